package request

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/history"
)

const defaultSummaryTokens = 4096

// EncodeConfig returns the config of a compaction encoded. The zero value asks for a
// summary.
func EncodeConfig(config anthropic.BetaCompactionConfigUnionParam) ([]byte, error) {
	data, err := history.EncodeJSON(configOr(config))
	if err != nil {
		return nil, fmt.Errorf("the config of the compaction cannot be encoded: %w", err)
	}
	return data, nil
}

// configOr returns the config, or one that asks for a summary in place of none.
func configOr(config anthropic.BetaCompactionConfigUnionParam) anthropic.BetaCompactionConfigUnionParam {
	if _, raw := config.Overrides(); config.OfSummarize == nil && !raw {
		return anthropic.BetaCompactionConfigUnionParam{OfSummarize: &anthropic.BetaSummarizeCompactionParam{}}
	}
	return config
}

// CheckCompactable reports parameters beside which the API cannot compact on
// demand: it would take the compaction, and refuse the next request.
func CheckCompactable(p *anthropic.BetaMessageNewParams) error {
	data, err := history.EncodeJSON(p.ContextManagement)
	if err != nil {
		return fmt.Errorf("Params.ContextManagement: %w", err)
	}
	var management struct{ Edits []struct{ Type string } }
	if err := json.Unmarshal(data, &management); err != nil {
		return fmt.Errorf("Params.ContextManagement: %w", err)
	}
	for _, edit := range management.Edits {
		if strings.HasPrefix(edit.Type, "compact_") {
			return fmt.Errorf("Params.ContextManagement has the edit %q, beside which the API does not compact on demand; use one of the two", edit.Type)
		}
	}
	return nil
}

// compact takes out of p what shapes a reply, which the API refuses beside a
// compaction.
func compact(p *anthropic.BetaMessageNewParams) {
	p.ContextManagement = anthropic.BetaContextManagementConfigParam{}
	p.StopSequences = nil
	p.OutputFormat = anthropic.BetaJSONOutputFormatParam{} //nolint:staticcheck // callers may still set it
	p.OutputConfig.Format = anthropic.BetaJSONOutputFormatParam{}
	if p.ToolChoice.OfAny != nil || p.ToolChoice.OfTool != nil {
		p.ToolChoice = anthropic.BetaToolChoiceUnionParam{}
	}
	p.Fallbacks.OfBetaFallbackArray = slices.Clone(p.Fallbacks.OfBetaFallbackArray)
	for i := range p.Fallbacks.OfBetaFallbackArray {
		p.Fallbacks.OfBetaFallbackArray[i].OutputConfig.Format = anthropic.BetaJSONOutputFormatParam{}
	}
}

// Summarizer is what the request of a summary has in place of the parameters'.
type Summarizer struct {
	Model     anthropic.Model // empty: that of the parameters
	MaxTokens int64           // zero: 4,096
}

// shape makes p the parameters of a request for a summary.
func (s Summarizer) shape(p *anthropic.BetaMessageNewParams, hasTools bool) {
	compact(p)
	if s.Model != "" {
		p.Model = s.Model
	}
	p.MaxTokens = s.MaxTokens
	if p.MaxTokens == 0 {
		p.MaxTokens = defaultSummaryTokens
	}
	p.Thinking = anthropic.BetaThinkingConfigParamUnion{}
	p.ToolChoice = anthropic.BetaToolChoiceUnionParam{}
	if hasTools { // the history holds calls, which the API only takes beside tools
		p.ToolChoice.OfNone = &anthropic.BetaToolChoiceNoneParam{}
	}
}
