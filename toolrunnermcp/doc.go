// Package toolrunnermcp turns the tools of an MCP server into tools of a
// runner. The session is one of the official Go SDK for MCP, over whatever
// transport; its owner opens it and closes it.
//
//	source, err := toolrunnermcp.NewSource(toolrunnermcp.Options{Prefix: "files_"})
//	session, err := mcp.NewClient(me, source.ClientOptions(nil)).Connect(ctx, transport, nil)
//	err = source.Attach(session)
//	tools, err := source.AppendTools(ctx, own)
//	runner, err := toolrunner.New(&client.Beta.Messages, tools, params)
//	err = source.Follow(ctx, runner)
//
// A [Source] is the tools of one server, for any number of runners. [Source.Follow] keeps
// a runner in step with a server that changes its list.
//
// # Names
//
// The Messages API accepts names of 1 to 128 letters, digits, underscores and
// hyphens, each once; MCP accepts more. A tool keeps its name, after
// [Options.Prefix], where it is legal and free. Otherwise each illegal character
// becomes an underscore, the name is cut to fit, and an underscore and the first
// 8 hexadecimal digits of the SHA-256 of the server's name for the tool follow;
// more digits where even that is taken. So a name does not depend on the order
// of the list, nor on the other tools in it. Calls go to the server under its
// own name for the tool.
//
// # Schemas
//
// A schema is sent as the server gave it, except for what makes the API refuse
// every request that has the tool:
//
//   - without a schema or a type, or with object among other types, it takes an object;
//   - a $ref at the top is replaced by what it refers to;
//   - oneOf, anyOf and allOf at the top move into the description, and the properties of
//     their branches become properties of the whole: required if allOf requires them;
//   - $schema goes, and tuples and exclusive bounds in the form of older drafts get the new one.
//
// A tool whose schema the API would still refuse is left out. Both are reported
// to [Options.Logger], and neither keeps the other tools from working. Input is
// not checked before it is sent: the server does that, and its answer goes to
// the model.
//
// # Results
//
// Text, and images of the types that the API reads, stay what they are. Embedded
// resources become documents, images or text. What the model cannot be shown,
// such as audio, is named by a line of text that gives its type and size.
// Structured content is used where there is no other. A failed result holds
// text alone, as the API accepts nothing else in it.
package toolrunnermcp
