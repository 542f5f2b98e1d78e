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

// Accept leaves tools out, and corrects what their server says of them.
func ExampleOptions() {
	ctx := context.Background()
	_, transport := weatherService()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()

	options := toolrunnermcp.Options{
		Accept: func(theirs *mcp.Tool, ours *toolrunner.Tool) bool {
			ours.ReadOnly = strings.HasPrefix(theirs.Name, "weather.") // whatever the server says
			return theirs.Name != "delete_everything"
		},
		Timeout: time.Minute,
		Logger:  slog.Default(),
	}
	tools, err := toolrunnermcp.Tools(ctx, session, options)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tool := range tools {
		fmt.Println(tool.Name(), tool.(*toolrunner.Tool).ReadOnly)
	}
	// Output: weather_now_700b5356 true
}
