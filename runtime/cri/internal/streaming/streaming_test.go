package streaming

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/podkeel/podkeel/runtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The exit code is read from the server's message as far as the message is readable.
func TestExitCode(t *testing.T) {
	exit := func(cause string) string {
		return `{"status":"Failure","reason":"NonZeroExitCode","message":"it failed","details":{"causes":[` + cause + `]}}`
	}
	for end, want := range map[string]int32{
		`{"status":"Success"}`:                       0,
		exit(`{"reason":"ExitCode","message":"42"}`): 42,
		exit(`{"reason":"other","message":"1"},{"reason":"ExitCode","message":"255"}`): 255,
	} {
		code, err := parseExitStatus([]byte(end))
		require.NoError(t, err)
		assert.Equal(t, want, code)
	}
	for end, want := range map[string]string{
		"":       "streaming: runtime: not ready: the connection broke before the process exited",
		"exit 3": "streaming: cannot decode the exit status: invalid character 'e' looking for beginning of value",
		`{}`:     `streaming: the runtime reports ""`,
		exit(""): `streaming: the runtime reports "it failed"`,
		exit(`{"reason":"ExitCode","message":"many"}`):     `streaming: the runtime reports "it failed"`,
		`{"status":"Failure","message":"no such program"}`: `streaming: the runtime reports "no such program"`,
	} {
		_, err := parseExitStatus([]byte(end))
		require.EqualError(t, err, want)
	}
	_, err := parseExitStatus(nil)
	require.ErrorIs(t, err, runtime.ErrNotReady)
}
