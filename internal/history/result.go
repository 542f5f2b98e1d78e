package history

import (
	"fmt"
	"strings"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// ResultBlock returns the tool_result that answers use with a block for each text.
func ResultBlock(use Use, text string, failed bool, more ...string) []byte {
	out := make([]byte, 0, 128+len(text)+len(text)/8) // for escapes
	out = append(out, `{"type":"tool_result","tool_use_id":`...)
	out = wire.AppendString(out, use.ID)
	if use.Toolset != "" {
		out = append(out, `,"toolset_name":`...)
		out = wire.AppendString(out, use.Toolset)
	}
	out = AppendText(append(out, `,"content":[`...), text)
	for _, text := range more {
		out = AppendText(append(out, ','), text)
	}
	out = append(out, ']')
	if failed {
		out = append(out, `,"is_error":true`...)
	}
	return append(out, '}')
}

// InvalidInput is what the model reads of a call whose input is not a JSON object. Such a
// call is never run.
func InvalidInput(input string) string {
	return "Error: the input of this call is not a JSON object, so it was not run. It reads: " + shortened(input)
}

// cutInput is what the model reads of a call that was cut off, where the input that is
// left of it is an object all the same.
func cutInput(input string) string {
	return "Error: the input of this call was cut off, so it was not run. It reads: " + shortened(input)
}

func shortened(input string) string {
	const most = 500
	if len(input) > most {
		input = strings.ToValidUTF8(input[:most], "") + "..."
	}
	return input
}

// NotFound is what the model reads of a call whose tool does not exist.
func NotFound(use Use) string {
	if use.Toolset != "" {
		return fmt.Sprintf("Error: Toolset '%s' member '%s' not found", use.Toolset, use.Name)
	}
	return fmt.Sprintf("Error: Tool '%s' not found", use.Name)
}
