package main

import (
	"context"

	"github.com/toolrunner/toolrunner"
)

func (a *agent) interim(next toolrunner.Handler) toolrunner.Handler {
	return func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		ok, reason, err := a.policy.allows(ctx, call)
		if err != nil {
			return nil, err
		}
		if !ok {
			return toolrunner.ErrorResult("Error: " + reason), nil
		}
		return next(ctx, call)
	}
}
