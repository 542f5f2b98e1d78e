// Package agenttoolset tests the runner with the agent toolset of the SDK.
package agenttoolset
