// Package toolrunnertest is a scripted Messages API for tests of agents: a server that answers with the replies you wrote
// down, and refuses every request that the real API would refuse.
//
//	func TestAgentAsksForTheWeather(t *testing.T) {
//		srv := toolrunnertest.NewServer(t,
//			toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
//			toolrunnertest.Text("It is sunny."),
//		)
//		answer := agent.Ask(t.Context(), srv.Client(), "How is the weather in Paris?")
//		if answer != "It is sunny." {
//			t.Errorf("answer = %q", answer)
//		}
//	}
//
// # Script
//
// A [Reply] is a message ([Message], [Text]), an error of the API ([Status]), exact bytes ([RawJSON], [RawSSE]) or made
// from the request ([Func]), or comes from a file ([File]). Its methods refine it: [Reply.StopReason], [Reply.Usage], [Reply.Delay], [Reply.CutAt] and so
// on. The same reply is sent as JSON or as an event stream, as the request asks. [Reply.Expect] says what its request has
// to be. [Script] reads a whole conversation from plain text.
//
// # Strictness
//
// [CheckRequest] holds the rules of the API, and the server applies it to every request: a tool_use without its
// tool_result, an empty text, a fifth cache_control is answered 400, and fails the test. Each [Rule] is a constant whose
// comment says where it is from; [Server.Ignore] switches one off. [CheckRun] checks what the API does not enforce, but a
// conversation needs: that each request continues the one before, byte for byte, and gives the replies back as they came.
//
// [WantMessages] compares what a request says with an outline of it.
//
// # Threads
//
// The server keeps message threads, with which a client sends only what is new; [Request.History] is the whole
// conversation. [Server.Forget] and [Server.RefuseThreads] are for tests of what a client does then.
//
// # Recordings
//
// [Replay] plays a session with a real endpoint, which it has recorded before.
//
// # Connections
//
// [Server.Client] is connected in memory: no ports, no flakes, and time stands still in a testing/synctest bubble until
// everybody waits. A response body that the code under test never closes shows there as a deadlock, since its connection
// stays in use. [Server.Listen] is for clients in other processes.
package toolrunnertest
