package toolrunnertest_test

import (
	"fmt"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A program that replaces its history says so; here the second request forgets the first.
func ExampleTakeover() {
	srv := toolrunnertest.New(toolrunnertest.Text("Hello."), toolrunnertest.Text("Hello again."))
	defer srv.Close()

	say(srv, "Good morning.")
	say(srv, "Good evening.")
	for _, breach := range toolrunnertest.Breaches(toolrunnertest.CheckRun(srv.Requests())) {
		fmt.Println(breach.Rule, breach.Path)
	}
	fmt.Println(toolrunnertest.CheckRun(srv.Requests(), toolrunnertest.Takeover(1)))
	// Output:
	// history-changed requests.1.messages.0
	// reply-missing requests.1.messages.1
	// <nil>
}

// A reply may be made from its request.
func ExampleFunc() {
	srv := toolrunnertest.New(toolrunnertest.Func(func(q *toolrunnertest.Request) toolrunnertest.Reply {
		return toolrunnertest.Text("You said: " + q.LastText())
	}))
	defer srv.Close()

	fmt.Println(say(srv, "Good morning."))
	// Output: You said: Good morning.
}
