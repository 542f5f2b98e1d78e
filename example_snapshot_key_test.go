package toolrunner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// With a key, a snapshot that was changed where it was stored is refused.
func ExampleParams_snapshotKey() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "pay", `{"to":"landlord","amount":900}`)),
	)
	defer srv.Close()
	client := srv.Client()

	key := []byte("32 bytes that came from a secret") // read from where secrets are kept
	params := paymentParams()
	params.SnapshotKey = key
	params.Messages = []anthropic.BetaMessageParam{say("Pay the rent.")}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{paymentTool()}, params)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = runner.RunToCompletion(context.Background())
	if suspended := (*toolrunner.SuspendedError)(nil); !errors.As(err, &suspended) {
		fmt.Println(err)
		return
	}
	snapshot, err := runner.Snapshot()
	if err != nil {
		fmt.Println(err)
		return
	}
	tampered := bytes.ReplaceAll(snapshot, []byte("landlord"), []byte("stranger"))

	params.Messages = nil
	_, err = toolrunner.Resume(&client.Beta.Messages, []anthropic.BetaTool{paymentTool()}, params, tampered)
	fmt.Println(err)
	// Output:
	// toolrunner: the snapshot cannot be used: record 1, at byte 0: it was changed after it was written, or another Params.SnapshotKey was set then
}
