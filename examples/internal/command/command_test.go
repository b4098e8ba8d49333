package command

import (
	"bytes"
	"flag"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestMeant: typing errors are recognised, and other words are left alone.
func TestMeant(t *testing.T) {
	known := []string{"manifests", "manifest-url", "node-ip", "node-name", "ps", "explain", "logs", "log-level", "listen"}
	for word, want := range map[string]string{
		"explian":     "explain",
		"expl":        "explain",
		"log":         "logs",
		"Explain":     "explain",
		"manifest":    "manifests",
		"node_name":   "node-name",
		"lisen":       "listen",
		"p":           "ps",
		"zzz":         "",
		"kubeconfig":  "",
		"":            "",
		"explainplan": "explain",
	} {
		assert.Equal(t, want, Meant(word, known), word)
	}
}

// TestVisible: however the text is cut into writes.
func TestVisible(t *testing.T) {
	text := "ü\x1b[2J\t語\u202e\n\x9b✓"
	want := `ü\x1b[2J` + "\t" + `語\u202e` + "\n" + `\x9b✓`
	for at := range len(text) + 1 {
		var out bytes.Buffer
		w := Visible(&out)
		for _, part := range []string{text[:at], text[at:]} {
			n, err := io.WriteString(w, part)
			assert.NoError(t, err)
			assert.Equal(t, len(part), n)
		}
		assert.Equal(t, want, out.String())
	}
}

// TestParse_Meant: a wrong flag is answered with the right one.
func TestParse_Meant(t *testing.T) {
	f := flag.NewFlagSet("x", flag.ContinueOnError)
	f.String("kubeconfig", "", "")
	f.Bool("impersonate", true, "")
	p := Program{Name: "x"}
	for arg, want := range map[string]string{
		"--kubeconf":    "flag provided but not defined: --kubeconf; did you mean --kubeconfig? --help shows all flags",
		"-impersonat=1": "flag provided but not defined: --impersonat; did you mean --impersonate? --help shows all flags",
		"--qqq":         "flag provided but not defined: --qqq; --help shows all flags",
	} {
		assert.EqualError(t, p.Parse(f, []string{arg}, io.Discard), want)
	}
}
