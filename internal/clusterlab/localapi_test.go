package clusterlab_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/clusterlab"
)

// alone is an agent on the memory runtime that serves its own API, and what asks it.
type alone struct {
	*testing.T
	dir     string // where commands run, with the manifests in it
	bin     string // of the agent
	tools   string // the directory of kubectl
	state   string // the directory of what the agent keeps
	args    []string
	program *program
}

// newAlone builds kubectl and the agent. It starts no control plane.
func newAlone(t *testing.T) *alone {
	t.Helper()
	if !*cluster {
		t.Skip("no kubectl without -cluster: it is built from source, which takes minutes")
	}
	tools, err := clusterlab.Build(t.Context(), "kubectl")
	requireBuilt(t, err)
	return (&alone{T: t, tools: tools, bin: buildExample(t, "agent")}).withDirectories()
}

// withDirectories gives the agent directories of its own. The state is in memory if the system has /dev/shm, because
// each write of the state is synced.
func (a *alone) withDirectories() *alone {
	a.Helper()
	a.dir = a.TempDir()
	require.NoError(a, os.MkdirAll(filepath.Join(a.dir, "manifests"), 0o755))
	if state, err := os.MkdirTemp("/dev/shm", "podkeel-*"); err == nil {
		a.state = state
		a.Cleanup(func() { assert.NoError(a, os.RemoveAll(state)) })
		return a
	}
	a.state = filepath.Join(a.dir, "state")
	return a
}

// startAgent starts the agent and waits until its API responds.
func (a *alone) startAgent(args ...string) {
	a.Helper()
	a.args = args
	a.program = runProgram(a.T, a.bin, append([]string{
		"--manifests", filepath.Join(a.dir, "manifests"), "--node-name", "n1", "--capacity", "cpu=4,memory=8Gi",
		"--listen", "", "--manifest-period", "1s", "--state-dir", a.state, "--write-kubeconfig", filepath.Join(a.dir, "config"),
	}, args...)...)
	a.program.waitForLine("the Kubernetes API is served")
	out := a.runScript("until kubectl get --raw /readyz >/dev/null 2>&1; do sleep 0.05; done")
	require.Empty(a, out)
}

// stopAgent stops the agent with its containers.
func (a *alone) stopAgent() {
	a.Helper()
	assert.Equal(a, 0, a.program.terminate())
}

// kubectlCommand returns a command that runs kubectl.
func (a *alone) kubectlCommand(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, filepath.Join(a.tools, "kubectl"), args...)
	a.setEnvironment(c)
	return c
}

// setEnvironment sets the directory and the environment of a command, so that it finds kubectl and kubectl finds the
// agent.
func (a *alone) setEnvironment(c *exec.Cmd) {
	c.Dir = a.dir
	c.Env = append(os.Environ(), "PATH="+a.tools+":"+os.Getenv("PATH"), "HOME="+a.dir, "KUBECONFIG="+filepath.Join(a.dir, "config"))
}

// runScript runs a script. It returns the output, and the exit code if the script fails.
func (a *alone) runScript(script string) string {
	a.Helper()
	ctx, cancel := context.WithTimeout(a.Context(), joinLimit)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-c", script)
	a.setEnvironment(c)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	out, err := c.CombinedOutput()
	exit := new(exec.ExitError)
	if ctx.Err() == nil && errors.As(err, &exit) {
		return fmt.Sprintf("%s[exit %d]\n", out, exit.ExitCode())
	}
	require.NoError(a, errors.Join(err, ctx.Err()), "%s: %s", script, out)
	return string(out)
}

// unstable lists the texts that differ from run to run, with their replacements.
var unstable = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`uid: [0-9a-f]{32}`), "uid: UID"},
	{regexp.MustCompile(`podkeel://[0-9a-f]+`), "podkeel://ID"},
	{regexp.MustCompile(`sha256:[0-9a-f]+`), "sha256:ID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}`), "TIME"},
	{regexp.MustCompile(`resourceVersion: "\d+"`), `resourceVersion: "N"`},
	{regexp.MustCompile(`"resourceVersion": "\d+"`), `"resourceVersion": "N"`},
	{regexp.MustCompile(`10\.88\.\d+\.\d+`), "IP"},
	{regexp.MustCompile(`(kubernetes.io/config.(?:hash|mirror)"?: "?)[0-9a-f]+`), "${1}ID"},
	{regexp.MustCompile(`\b\d+(m\d+)?m?s\b( ago)?`), "AGE"},
	{regexp.MustCompile(` +(\n|$)`), "$1"},
	{regexp.MustCompile(`(\S)   +`), "$1  "}, // The width of a column depends on its content.
}

func replaceUnstable(text string) string {
	for _, u := range unstable {
		text = u.pattern.ReplaceAllString(text, u.text)
	}
	return text
}

// TestLocalAPI runs testdata/localapi: the real kubectl asks an agent without a cluster. The
// commands:
//
//	agent [FLAG ...]   start the agent, or end it and start another one
//	file PATH          write a file: those below manifests are of static pods
//	sh                 run a script
//
// What differs from run to run is replaced by a word, and columns are two spaces apart.
func TestLocalAPI(t *testing.T) {
	a := newAlone(t)
	datadriven.Walk(t, filepath.Join("testdata", "localapi"), func(t *testing.T, path string) {
		a := (&alone{T: t, tools: a.tools, bin: a.bin}).withDirectories()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			a.T = t
			switch d.Cmd {
			case "agent":
				if a.program != nil {
					a.stopAgent()
				}
				var flags []string
				for _, flag := range d.CmdArgs {
					flags = append(flags, flag.Key)
				}
				a.startAgent(flags...)
			case "file":
				require.NoError(t, os.WriteFile(filepath.Join(a.dir, d.CmdArgs[0].Key), []byte(d.Input+"\n"), 0o644))
			case "sh":
				return replaceUnstable(a.runScript(d.Input))
			default:
				t.Fatalf("unknown command %q", d.Cmd)
			}
			return ""
		})
		a.stopAgent()
	})
}

// TestLocalAPI_Streams: processes, files, terminals and ports of a pod, as kubectl has them.
func TestLocalAPI_Streams(t *testing.T) {
	a := newAlone(t)
	a.startAgent("--api-write")
	defer a.stopAgent()
	a.runScript(`kubectl run tools --image=busybox --command -- sleep 3600`)
	a.runScript(`kubectl wait --for=condition=Ready pod/tools`)
	a.checkFiles()
	t.Run("terminal", func(t *testing.T) {
		s := onTerminal(t, 80, 24, a.kubectlCommand, "exec", "-it", "tools", "--", "sh")
		s.waitForText("# ")
		s.typeKeys("stty size\r", "24 80")
		s.typeKeys("echo he''llo\r", "hello")
		s.typeKeys("exit 7\r", "exit 7")
		assert.Equal(t, 7, s.waitForExit())
	})
	t.Run("run", func(t *testing.T) {
		s := onTerminal(t, 80, 24, a.kubectlCommand, "run", "shell", "--rm", "-it", "--restart=Never", "--image=busybox", "--", "sh")
		s.waitForText("# ", "press")
		s.typeKeys("\r", "# ")
		s.typeKeys("echo he''llo\r", "hello")
		s.typeKeys("exit 3\r", `pod "shell" deleted from default namespace`)
		assert.Equal(t, 3, s.waitForExit())
		assert.Equal(t, "tools\n", a.runScript(`kubectl get pods -o custom-columns=:.metadata.name --no-headers`))
	})
	t.Run("debug", func(t *testing.T) {
		s := onTerminal(t, 80, 24, a.kubectlCommand, "debug", "-it", "tools", "--image=busybox", "--container=debugger", "--profile=general", "--", "sh")
		s.waitForText("# ", "press")
		s.typeKeys("\r", "# ")
		s.typeKeys("exit 5\r", "exit 5")
		_ = s.waitForExit() // kubectl says 0 or the code, depending on which it hears of first.
		assert.Equal(t, "", a.runScript(`kubectl wait pod/tools --for=jsonpath='{.status.ephemeralContainerStatuses[0].state.terminated.exitCode}'=5 >/dev/null`))
	})
	ctx, cancel := context.WithCancel(t.Context())
	forward := a.kubectlCommand(ctx, "port-forward", "pod/tools", ":8080")
	echoThroughForward(t, forward)
	cancel()
	_ = forward.Wait() // It was ended.
}

// checkFiles checks that kubectl cp copies a file and a directory byte for byte, and that a process gets its input byte
// for byte.
func (a *alone) checkFiles() {
	a.Helper()
	text := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16)
	require.NoError(a, os.WriteFile(filepath.Join(a.dir, "there"), text, 0o600))
	assert.Empty(a, a.runScript(strings.TrimSpace(`
kubectl cp there tools:/file && kubectl cp tools:/file back && cmp there back
mkdir -p tree/deep && printf '\000\377\r\n\003' >tree/deep/bytes && touch tree/deep/empty
kubectl cp tree tools:/tree && kubectl cp tools:/tree again && diff -r tree again
kubectl exec -i tools -- cat <there >echoed && cmp there echoed
`)))
	assert.Equal(a, "tar: can't open \"/none\": No such file or directory\ncommand terminated with exit code 1\n", a.runScript("kubectl cp tools:/none none; test ! -e none"))
}
