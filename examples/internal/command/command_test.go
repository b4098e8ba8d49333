package command

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/pflag"
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
		assert.Equal(t, want, NearestWord(word, known), word)
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

// TestRun_Flags: a wrong flag is answered with the right one, and every spelling that worked before
// cobra works.
func TestRun_Flags(t *testing.T) {
	type options struct {
		kubeconfig  string
		impersonate bool
		nodes       int
	}
	p := Program{Name: "x", Guidance: "guidance\n"}
	call := func(line string) (o *options, status int, out, logs string) {
		var stdout, stderr bytes.Buffer
		status = Run(p, strings.Fields(line), &stdout, &stderr, func(f *pflag.FlagSet) *options {
			o := &options{}
			f.StringVar(&o.kubeconfig, "kubeconfig", "", "`file` to read")
			f.BoolVar(&o.impersonate, "impersonate", true, "act as the node")
			f.IntVar(&o.nodes, "nodes", 10, "`number` of nodes")
			return o
		}, func(o *options) error {
			if o.nodes == 0 {
				return errors.New("no nodes")
			}
			return nil
		}, func(got *options) error {
			if o = got; o.kubeconfig == "bad" {
				return errors.New("cannot join")
			}
			return nil
		})
		return o, status, stdout.String(), stderr.String()
	}
	for line, want := range map[string]string{
		"--kubeconf":                  "flag provided but not defined: --kubeconf; did you mean --kubeconfig? --help shows all flags",
		"-impersonat=1":               "flag provided but not defined: --impersonat; did you mean --impersonate? --help shows all flags",
		"--qqq":                       "flag provided but not defined: --qqq; --help shows all flags",
		"-kubeconfig":                 "flag needs an argument: --kubeconfig",
		"---nodes 3":                  "bad flag syntax: ---nodes",
		"--nodes=0":                   "no nodes",
		"--nodes x":                   `invalid value "x" for flag --nodes: parse error`,
		"--nodes 9999999999999999999": `invalid value "9999999999999999999" for flag --nodes: value out of range`,
		"--impersonate=x":             `invalid boolean value "x" for --impersonate: parse error`,
		"--nodes 1 more":              `unexpected argument "more"`,
		"-- more":                     `unexpected argument "more"`,
	} {
		o, status, out, logs := call(line)
		assert.Nil(t, o, line)
		assert.Equal(t, 2, status, line)
		assert.Empty(t, out, line)
		assert.Equal(t, "x: "+want+"\n", logs, line)
	}
	_, status, _, logs := call("--kubeconfig bad")
	assert.Equal(t, []any{1, "x: cannot join\n"}, []any{status, logs})
	for line, want := range map[string]options{
		"-kubeconfig k":                    {"k", true, 10},
		"--kubeconfig=k --impersonate":     {"k", true, 10},
		"-impersonate=false -nodes -3":     {"", false, -3},
		"--impersonate false --nodes=3 --": {"", false, 3},
		"--kubeconfig -- -nodes 3":         {"--", true, 3},
	} {
		o, status, _, logs := call(line)
		assert.Equal(t, 0, status, logs)
		assert.Equal(t, &want, o, line)
	}
	for _, line := range []string{"--help", "-h", "-help"} {
		o, status, out, _ := call(line)
		assert.Nil(t, o)
		assert.Equal(t, 0, status)
		assert.Equal(t, "guidance\n\nFlags:\n  --impersonate\n    \tact as the node (default true)\n"+
			"  --kubeconfig file\n    \tfile to read\n  --nodes number\n    \tnumber of nodes (default 10)\n", out)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		_, status, out, _ := call("completion " + shell)
		assert.Equal(t, 0, status)
		assert.Contains(t, out, "__complete")
	}
	_, status, out, _ := call("__completeNoDesc --n")
	assert.Equal(t, 0, status)
	assert.Contains(t, out, "--nodes\n")
}
