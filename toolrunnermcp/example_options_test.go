package toolrunnermcp_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnermcp"
)

// Accept leaves tools out, and says of the others what the server is not trusted to say.
func ExampleOptions() {
	ctx := context.Background()
	_, transport := weatherService()
	source, err := toolrunnermcp.NewSource(toolrunnermcp.Options{
		Name: "weather",
		Accept: func(theirs *mcp.Tool, ours *toolrunner.Tool) bool {
			ours.ReadOnly = strings.HasPrefix(theirs.Name, "weather.")
			ours.Exclusive = !ours.ReadOnly
			return theirs.Name != "delete_everything"
		},
		Timeout: time.Minute,
		Logger:  slog.Default(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer source.Close()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, source.ClientOptions(nil)).Connect(ctx, transport, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	if err := source.Attach(session); err != nil {
		fmt.Println(err)
		return
	}
	tools, err := source.Tools(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tool := range tools {
		fmt.Println(tool.Name(), tool.ReadOnly)
	}
	// Output: weather_now_700b5356 true
}
