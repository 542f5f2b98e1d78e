package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	_ "modernc.org/sqlite" // the driver

	"github.com/toolrunner/toolrunner"
)

var (
	errUnknown  = errors.New("there is no such run")
	errConflict = errors.New("the run has gone on since")
)

// store keeps runs in SQLite, one row for each.
type store struct{ db *sql.DB }

const schema = `CREATE TABLE IF NOT EXISTS runs (
	run      TEXT PRIMARY KEY,
	sequence INTEGER NOT NULL,
	snapshot TEXT NOT NULL -- a whole state and the deltas after it, byte for byte
)`

func openStore(ctx context.Context, path string) (*store, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=synchronous(FULL)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // SQLite has one writer
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &store{db}, nil
}

// load returns the run as it was kept last.
func (s *store) load(ctx context.Context, run string) (sequence int64, snapshot []byte, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT sequence, snapshot FROM runs WHERE run = ?`, run).Scan(&sequence, &snapshot)
	if errors.Is(err, sql.ErrNoRows) {
		err = errUnknown
	}
	return sequence, snapshot, err
}

// keep is the checkpoint of every run. It keeps a delta only if the row still has
// the state that the delta comes after: of two processes that have resumed the same
// state, the first one to get here goes on, and the other one ends.
func (s *store) keep(ctx context.Context, delta toolrunner.Delta) error {
	var result sql.Result
	var err error
	switch {
	case delta.After == 0:
		result, err = s.db.ExecContext(ctx, `INSERT INTO runs (run, sequence, snapshot) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
			delta.ConversationID, delta.Sequence, string(delta.Data))
	case delta.Full:
		result, err = s.db.ExecContext(ctx, `UPDATE runs SET sequence = ?, snapshot = ? WHERE run = ? AND sequence = ?`,
			delta.Sequence, string(delta.Data), delta.ConversationID, delta.After)
	default:
		result, err = s.db.ExecContext(ctx, `UPDATE runs SET sequence = ?, snapshot = snapshot || ? WHERE run = ? AND sequence = ?`,
			delta.Sequence, string(delta.Data), delta.ConversationID, delta.After)
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", delta.ConversationID, err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 1 {
		return err
	}
	return fmt.Errorf("run %s: %w", delta.ConversationID, errConflict)
}

func (s *store) close() error { return s.db.Close() }
