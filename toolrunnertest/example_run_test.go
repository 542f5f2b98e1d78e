package toolrunnertest_test

import (
	"fmt"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A program that replaces its history says so; here the second request forgets the first.
func ExampleTakeover() {
	srv := toolrunnertest.NewServer(nil, toolrunnertest.Text("Hello."), toolrunnertest.Text("Hello again."))
	defer srv.Close()

	say(srv, "Good morning.")
	say(srv, "Good evening.")
	err := toolrunnertest.CheckRun(srv.Requests(), toolrunnertest.OneRun())
	for _, breach := range toolrunnertest.Breaches(err) {
		fmt.Println(breach.Rule, breach.Path)
	}
	evening := toolrunnertest.Takeover(toolrunnertest.HasText("Good evening."))
	fmt.Println(toolrunnertest.CheckRun(srv.Requests(), toolrunnertest.OneRun(), evening))
	// Output:
	// history-changed requests.1.messages.0
	// reply-missing requests.1.messages.1
	// <nil>
}

// Without OneRun, a request that begins a conversation is that of another agent.
func ExampleOneRun() {
	srv := toolrunnertest.NewServer(nil, toolrunnertest.Text("Bonjour."), toolrunnertest.Text("Guten Tag."))
	defer srv.Close()

	say(srv, "Hello in French?")
	say(srv, "Hello in German?")
	fmt.Println(toolrunnertest.CheckRun(srv.Requests()))
	fmt.Println(toolrunnertest.CheckRun(srv.Requests(), toolrunnertest.OneRun()) != nil)
	// Output:
	// <nil>
	// true
}

// Where the rules of the run are known to be broken at one request, its position names it.
func ExampleNth() {
	srv := toolrunnertest.NewServer(nil, toolrunnertest.Text("Hello."), toolrunnertest.Text("Hello again."))
	defer srv.Close()

	say(srv, "Good morning.")
	say(srv, "Good evening.")
	second := toolrunnertest.Takeover(toolrunnertest.Nth(1))
	fmt.Println(toolrunnertest.CheckRun(srv.Requests(), toolrunnertest.OneRun(), second))
	// Output: <nil>
}

// A reply may be made from its request.
func ExampleFunc() {
	srv := toolrunnertest.NewServer(nil, toolrunnertest.Func(func(q *toolrunnertest.Request) toolrunnertest.Reply {
		return toolrunnertest.Text("You said: " + q.LastText())
	}))
	defer srv.Close()

	fmt.Println(say(srv, "Good morning."))
	// Output: You said: Good morning.
}
