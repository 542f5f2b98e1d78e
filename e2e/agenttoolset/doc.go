// Package agenttoolset tests the runner with the agent toolset of the SDK. It is a
// module of its own because the toolset needs one that nobody else does.
package agenttoolset
