package toolrunner

import (
	"encoding/json"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/toolrunner/toolrunner/internal/machine"
	"github.com/toolrunner/toolrunner/internal/request"
)

// Params meet internal/request here, which makes the body of a request of them.

// input returns what the request of a step is made of, of the parameters as they are now.
func (p *Params) input(s machine.Step) request.Input {
	in := request.Input{
		Kind: requestKind(s.Kind), Params: p.BetaMessageNewParams, Summarizer: p.AutoCompact.summarizer(), Compaction: p.AutoCompact.Config,
	}
	if s.Config != nil {
		in.Compaction = param.Override[anthropic.BetaCompactionConfigUnionParam](json.RawMessage(s.Config))
	}
	return in
}

func requestKind(kind machine.StepKind) request.Kind {
	switch kind {
	case machine.Compact:
		return request.Compaction
	case machine.Summarize:
		return request.Summary
	default:
		return request.Turn
	}
}

// definitionsOf returns tools as requests have them.
func definitionsOf(tools []*machine.Tool) []request.Definition {
	definitions := make([]request.Definition, len(tools))
	for i, tool := range tools {
		definitions[i] = request.Definition{Name: tool.Name, Raw: tool.Definition, Breakpoints: tool.Breakpoints}
	}
	return definitions
}
