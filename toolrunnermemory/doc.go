// Package toolrunnermemory runs the API's memory tool: the model keeps notes in files below
// /memories and reads them in later conversations.
//
// [New] makes a tool of a [Store]. [Dir] is a store in a folder, and [NewMap] one in memory,
// for tests. The commands, their texts, the line numbers and the checks of paths are the
// tool's, so a store has to keep bytes only.
//
// The texts are those of the official helper for Python, which models know. Where the two
// official helpers differ, or lose something, docs/guide/memory.md says what this package does.
package toolrunnermemory
