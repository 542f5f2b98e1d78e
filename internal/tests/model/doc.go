// Package model tests the public API of the runner with random programs. It has no
// code beside its tests.
//
// A program is a list of steps: what the server answers, what the program that owns
// the runner does, and its loop bodies, handlers, approver and checkpoint (see step).
// It runs in a synctest bubble, against a server in memory that speaks the real wire
// format, and the same program does the same each time. Beside it runs a model that
// shares no code with the library, and says what must hold:
//
//   - requests: toolrunnertest.CheckRequest, and the rules in wire_test.go that it does
//     not have;
//   - history: what was said is in the next request, once and in order, and what was
//     sent goes out again byte for byte (history_test.go);
//   - calls: each runs once at most, with the arguments that the model wrote or the
//     approver decided on, never against a decision, a takeover or a result by hand,
//     and its result is what goes out, as the loop body left it (calls_test.go);
//   - twins: a runner of the snapshot, and one of New(Messages()), send the same
//     request as the run, and run no call that must not run (twin_test.go);
//   - ends: the error and the outcome agree, something explains the error, no handler
//     runs and no goroutine is left, and every run comes to an end (loop_test.go,
//     world_test.go).
//
// The first thing that does not hold ends the program. It has a kind, such as
// "call/twice". A program that fails is made small, and printed as Go source for a
// test in regressions_test.go. The table pending there has the kinds that are known
// and tolerated.
//
//	go test ./internal/tests/model                                       a fixed number of seeds
//	go test ./internal/tests/model -run Programs -timeout 0 \
//	    -model.start 1000000 -model.seeds 5000000                        for hours
//	go test ./internal/tests/model -model.strict                         without the table pending
//
// A new capability is an entry in dimensions (what programs say), one in operations
// (what it does), and where needed a line in the model (what must hold). A new kind of
// block or a flag of replies stands in reply, world.parts and the tables beside
// dimensions.
package model
