// Web-approval is a web service whose agent refunds orders, each refund once a
// person has allowed it. Runs wait in SQLite, for days if need be, and any process
// that has the database goes on with them.
//
//	export ANTHROPIC_API_KEY=... SNAPSHOT_KEY=$(openssl rand -hex 32)
//	go run . -db runs.db -listen localhost:8080
//	curl -d '{"task":"Order A-17 arrived broken, I want my money back."}' localhost:8080/runs
//
// docs/guide/web-approval.md explains it.
package main

import (
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
)

func main() {
	db := flag.String("db", "runs.db", "the `file` that runs are kept in")
	listen := flag.String("listen", "localhost:8080", "the `address` to serve")
	flag.Parse()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := serve(ctx, log, *db, *listen)
	stop()
	if err != nil {
		log.Error("the service ends", "error", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, log *slog.Logger, db, listen string) (err error) {
	key, err := sealKey(os.Getenv("SNAPSHOT_KEY"))
	if err != nil {
		return err
	}
	store, err := openStore(ctx, db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.close()) }()
	agent := &agent{client: anthropic.NewClient(), tools: toolsOf(&shop{}), store: store, sealKey: key}
	web := &http.Server{Addr: listen, Handler: (&server{agent, log}).handler(), ReadHeaderTimeout: 10 * time.Second}
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		stopped <- web.Shutdown(context.WithoutCancel(ctx)) // runs go on to where they wait
	}()
	if err := web.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}

// sealKey reads the key that snapshots are sealed with: 32 bytes in hexadecimal.
func sealKey(text string) ([]byte, error) {
	key, err := hex.DecodeString(text)
	if err != nil || len(key) != 32 {
		return nil, fmt.Errorf("SNAPSHOT_KEY has %d characters; set it to 64 hexadecimal digits, such as openssl rand -hex 32 makes", len(text))
	}
	return key, nil
}
