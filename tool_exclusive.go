package toolrunner

import (
	"io"
	"reflect"

	"github.com/anthropics/anthropic-sdk-go/v2"
)

// Tools that change shared state are wrapped here; the runner then runs each of
// their calls alone.

// Exclusive returns tools whose calls run alone and in the model's order: the calls
// before one have ended, the calls after it have not begun. It is for tools that are
// not a [Tool] and change something that their calls share, such as the SDK's agent
// toolset, which edits files. For a [Tool] it returns a copy with Tool.Exclusive set.
//
// The returned tools have a Close method that closes the wrapped tool if that is an
// [io.Closer], so agenttoolset.CloseAll works with them. Other runners run them as
// they run any tool. The slice that is passed stays as it is.
func Exclusive(tools ...anthropic.BetaTool) []anthropic.BetaTool {
	alone := make([]anthropic.BetaTool, len(tools))
	for i, tool := range tools {
		switch own, ok := tool.(*Tool); {
		case isNil(tool): // New refuses it
			alone[i] = tool
		case ok:
			changed := *own
			changed.Exclusive = true
			alone[i] = &changed
		default:
			alone[i] = &exclusiveTool{tool}
		}
	}
	return alone
}

// exclusiveTool is a tool that is not ours and runs alone.
type exclusiveTool struct{ anthropic.BetaTool }

// Close closes the tool, if it can be closed.
func (t *exclusiveTool) Close() error {
	if closer, ok := t.BetaTool.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// isNil reports whether there is no tool.
func isNil(tool anthropic.BetaTool) bool {
	v := reflect.ValueOf(tool)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}
