package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
)

// desk is the shop that the tools work for.
type desk interface {
	order(ctx context.Context, id string) (string, error)
	// refund pays back once for each key.
	refund(ctx context.Context, key, order string, cents int) error
}

func toolsOf(d desk) []anthropic.BetaTool {
	type lookUp struct {
		Order string `json:"order" jsonschema:"required"`
	}
	look := toolrunner.NewTool("look_up_order", "Look up an order.",
		func(ctx context.Context, in lookUp) (string, error) { return d.order(ctx, in.Order) })
	look.ReadOnly = true

	type payBack struct {
		Order string `json:"order" jsonschema:"required"`
		Cents int    `json:"cents" jsonschema:"required,minimum=1"`
	}
	refund := toolrunner.NewTool("refund", "Pay money back for an order.",
		func(ctx context.Context, in payBack) (string, error) {
			call, _ := toolrunner.CallFrom(ctx)
			if err := d.refund(ctx, call.IdempotencyKey(), in.Order, in.Cents); err != nil {
				return "", err
			}
			return fmt.Sprintf("%d cents were paid back.", in.Cents), nil
		})
	refund.Idempotent = true
	return []anthropic.BetaTool{look, refund}
}

// shop is a desk for trying things out: it forgets when the process ends.
type shop struct {
	mu      sync.Mutex
	refunds map[string]int // cents, by key
}

func (s *shop) order(_ context.Context, id string) (string, error) {
	return fmt.Sprintf("Order %s: a kettle, 4200 cents, arrived broken.", id), nil
}

func (s *shop) refund(_ context.Context, key, _ string, cents int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refunds == nil {
		s.refunds = make(map[string]int)
	}
	s.refunds[key] = cents
	return nil
}
