package memory_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/runtime/memory"
)

// Any text is a script or a sentence about it; a script survives being written
// down and read again.
func FuzzParseScript(f *testing.F) {
	f.Add("fail=image; run=1m30s exit=1; run=forever exit=0; start-delay=1s ignore-term")
	f.Add(";=; = run=;exit=256")
	f.Add("run=5s memory=1Mi memory@2s=1500k memory@1s=2Mi")
	f.Add("run=5s exit=137 reason=OOMKilled message=\"a; b \\\" \\x80\" print=x print@2s=\"\\n\"")
	f.Fuzz(func(t *testing.T, text string) {
		script, err := memory.ParseScript(text)
		if err != nil {
			require.ErrorIs(t, err, memory.ErrScript)
			return
		}
		again, err := memory.ParseScript(script.String())
		require.NoError(t, err)
		require.Equal(t, script, again)
	})
}

// So are any answers.
func FuzzParseAnswers(f *testing.F) {
	f.Add("fail for=5s; hang for=1m takes=2s; ok message=\"a; b \\\" c\"")
	f.Add("message=\"\\x80\" ok;ok")
	f.Fuzz(func(t *testing.T, text string) {
		answers, err := memory.ParseAnswers(text)
		if err != nil {
			require.ErrorIs(t, err, memory.ErrScript)
			return
		}
		again, err := memory.ParseAnswers(answers.String())
		require.NoError(t, err)
		require.Equal(t, answers, again)
	})
}

// Any command is obvious or runs for ever; none takes less than no time.
func FuzzCommand(f *testing.F) {
	f.Add("sh\x00-c\x00trap '' TERM; sleep 1.5m; exit 300")
	f.Add("sleep\x001e400\x00nan")
	f.Add("sh\x00-c\x00sleep 9e9; sleep 9e9")
	f.Add("sh\x00-c\x00echo 'a; b' \"c\" >&2; sleep 1; echo $x")
	f.Fuzz(func(t *testing.T, words string) {
		run := memory.CommandRun(strings.Split(words, "\x00"))
		require.GreaterOrEqual(t, run.For, time.Duration(0))
		require.True(t, run.Exit >= 0 && run.Exit <= 255)
		printed, since := 0, time.Duration(0)
		for _, line := range run.Print {
			require.GreaterOrEqual(t, line.After, since)
			since = line.After
			printed += len(line.Text)
		}
		require.LessOrEqual(t, printed, len(words))
		if script := run.String(); !run.Forever && utf8.ValidString(words) {
			again, err := memory.ParseScript(script)
			require.NoError(t, err)
			require.Equal(t, script, again.String())
		}
	})
}
