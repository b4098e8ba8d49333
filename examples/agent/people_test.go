package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

const talker = `apiVersion: v1
kind: Pod
metadata: {name: talker}
spec:
  containers:
  - name: main
    image: busybox
    command: [sh, -c, "echo one; echo two; echo three; sleep inf"]
  - name: other
    image: busybox
    command: [sh, -c, "echo other; sleep inf"]
`

// TestCommands_People: a user of the agent's address lists pods, reads logs, and runs commands if the flags of the
// agent allow that.
func TestCommands_People(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "talker.yaml"), []byte(talker), 0o600))
	for _, exec := range []string{"true", "false"} {
		o, err := parseAgentOptions([]string{"--manifests", dir, "--listen", "127.0.0.1:0", "--node-name", "n", "--events", "false", "--exec", exec})
		require.NoError(t, err)
		out, log := newLines(), newLines()
		a, err := newAgent(o, out, log)
		require.NoError(t, err)
		signals, ended := make(chan os.Signal, 1), make(chan error, 1)
		go func() { ended <- a.runUntilStopped(signals) }()
		out.until(t, "talker-n", "2/2", "Running")
		ask := func(command string, args ...string) (int, string, string) {
			return called(append([]string{command, "--server", a.portAddress()}, args...)...)
		}

		code, stdout, stderr := ask("ps")
		assert.Equal(t, exitOK, code, stderr)
		assert.Regexp(t, `^NAME +READY +STATUS +RESTARTS +AGE\ntalker-n +2/2 +Running +0 +\d+s\n$`, stdout)

		for want, args := range map[string]string{
			"one\ntwo\nthree\n": "talker-n",
			"two\nthree\n":      "default/talker-n -c main --tail 2",
			"three\n":           "--tail=1 talker-n --follow=false",
			"other\n":           "talker-n -c other --since 1h",
		} {
			code, stdout, stderr := ask("logs", strings.Fields(args)...)
			assert.Equal(t, exitOK, code, stderr)
			assert.Equal(t, want, stdout)
		}
		for _, name := range []string{"talker", "default/talker", "tal", "default/t"} {
			code, stdout, stderr = ask("logs", name, "-p=false", "--tail=1")
			assert.Equal(t, exitOK, code, stderr)
			assert.Equal(t, "three\n", stdout, name)
		}
		code, stdout, stderr = ask("ps", "-o", "json")
		assert.Equal(t, exitOK, code, stderr)
		var list v1.PodList
		require.NoError(t, json.Unmarshal([]byte(stdout), &list))
		assert.Equal(t, "PodList talker-n", list.Kind+" "+list.Items[0].Name)
		code, stdout, stderr = ask("explain", "tal", "-o", "json")
		assert.Equal(t, exitOK, code, stderr)
		var page map[string]any
		require.NoError(t, json.Unmarshal([]byte(stdout), &page))
		assert.Contains(t, stdout, "default/talker-n")
		code, _, stderr = ask("explain", "nothing")
		assert.Equal(t, exitFailed, code)
		assert.Equal(t, "agent: there is no pod \"nothing\" in namespace \"default\" on this node; /pods lists the pods\n", stderr)
		code, _, stderr = ask("logs", "talker-n", "-c", "none")
		assert.Equal(t, exitFailed, code)
		assert.Contains(t, stderr, `agent: pod default/talker-n: the runtime has no container "none" of it, but main, other`)
		code, _, stderr = ask("logs", "talker-n", "--previous")
		assert.Equal(t, exitFailed, code)
		assert.Contains(t, stderr, `container "main" has no earlier container`)

		code, stdout, stderr = ask("exec", "talker-n", "-c", "other", "--", "sh", "-c", "echo hello; exit 7")
		if exec == "true" {
			assert.Equal(t, 7, code, stderr)
			assert.Equal(t, "hello\n", stdout)
			code, _, _ = ask("exec", "talker-n", "--", "true")
			assert.Equal(t, exitOK, code)
		} else {
			assert.Equal(t, exitFailed, code)
			assert.Equal(t, "agent: this node does not run commands; its operator can allow it\n", stderr)
		}
		signals <- os.Interrupt
		require.NoError(t, <-ended)
	}
}

// stayer is a pod that uses its full grace period.
const stayer = `
apiVersion: v1
kind: Pod
metadata:
  name: etcd
  annotations: {memory.podkeel.dev/main: "run=forever ignore-term"}
spec:
  terminationGracePeriodSeconds: 3
  containers: [{name: main, image: etcd}]
`

// TestPs_ShowsAPodWhoseManifestIsGoneUntilItHasEnded: it is Terminating until then.
func TestPs_ShowsAPodWhoseManifestIsGoneUntilItHasEnded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	manifest := filepath.Join(dir, "etcd.yaml")
	require.NoError(t, os.WriteFile(manifest, []byte(stayer), 0o600))
	o, err := parseAgentOptions([]string{"--manifests", dir, "--listen", "127.0.0.1:0", "--node-name", "n", "--events", "false"})
	require.NoError(t, err)
	out, log := newLines(), newLines()
	a, err := newAgent(o, out, log)
	require.NoError(t, err)
	signals, ended := make(chan os.Signal, 1), make(chan error, 1)
	go func() { ended <- a.runUntilStopped(signals) }()
	out.until(t, "etcd-n", "1/1", "Running")
	require.NoError(t, os.Remove(manifest))
	out.until(t, "etcd-n", "1/1", "Terminating")
	code, stdout, stderr := called("ps", "--server", a.portAddress())
	assert.Equal(t, exitOK, code, stderr)
	assert.Regexp(t, `(?m)^etcd-n +1/1 +Terminating +0 +\d+s$`, stdout)
	out.until(t, "etcd-n", "0/1", "Gone")
	code, stdout, stderr = called("ps", "--server", a.portAddress())
	assert.Equal(t, exitOK, code, stderr)
	assert.NotContains(t, stdout, "etcd-n")
	signals <- os.Interrupt
	require.NoError(t, <-ended)
}

// TestLogs_Interrupted: a signal stops a command that would continue.
func TestLogs_Interrupted(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("one\n"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer s.Close()
	signals, ended := make(chan os.Signal, 1), make(chan int, 1)
	out := newLines()
	go func() {
		ended <- run([]string{"logs", "web", "--follow", "--server", strings.TrimPrefix(s.URL, "http://")}, signals, out, newLines())
	}()
	out.until(t, "one")
	signals <- os.Interrupt
	assert.Equal(t, exitInterrupted, <-ended)
}

// TestCommands_BrokenAnswers: an incomplete response is an error.
func TestCommands_BrokenAnswers(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "Podkeel-Error")
		_, _ = w.Write([]byte("half\n"))
		if strings.HasPrefix(r.URL.Path, "/logs/") {
			w.Header().Set("Podkeel-Error", "the disk is gone")
		}
	}))
	defer s.Close()
	for want, args := range map[string][]string{
		"agent: the disk is gone\n": {"logs", "web"},
		"agent: the agent does not report the exit code of the command: \"\"\n":                                                                           {"exec", "web", "--", "true"},
		"agent: the answer of " + strings.TrimPrefix(s.URL, "http://") + " is not a list of pods: invalid character 'h' looking for beginning of value\n": {"ps"},
	} {
		code, _, stderr := called(append([]string{args[0], "--server", strings.TrimPrefix(s.URL, "http://")}, args[1:]...)...)
		assert.Equal(t, exitFailed, code)
		assert.Equal(t, want, stderr)
	}
	for _, args := range [][]string{{"ps", "web"}, {"logs"}, {"logs", "a", "b"}, {"exec", "web"}, {"exec", "--", "true"}, {"logs", "web", "--fast"}} {
		code, _, stderr := called(args...)
		assert.Equal(t, exitUsage, code)
		assert.NotEmpty(t, stderr)
	}
}

// TestPs_Large: a list of any length is read, but a pod has a maximum size.
func TestPs_Large(t *testing.T) {
	const items = 300
	server := servePods(t, strings.Repeat("x", 100<<10), items)
	code, stdout, stderr := called("ps", "--server", server)
	assert.Equal(t, exitOK, code, stderr)
	assert.Equal(t, items+1, strings.Count(stdout, "\n"), "30 MiB of pods")
	assert.Regexp(t, `(?m)^/p299 `, stdout)

	server = servePods(t, strings.Repeat("x", 17<<20), 1)
	code, _, stderr = called("ps", "--server", server)
	assert.Equal(t, exitFailed, code)
	assert.Equal(t, "agent: the answer of "+server+" is not a list of pods: it is longer than 16 MiB\n", stderr)
	code, _, stderr = called("explain", "p", "--server", server)
	assert.Equal(t, exitFailed, code)
	assert.Equal(t, "agent: the answer of "+server+" is cut short: it is longer than 16 MiB\n", stderr)
}

// servePods answers every request with this number of pods, each with a long annotation.
func servePods(t *testing.T, long string, items int) (server string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"kind":"PodList","metadata":{"x":[{}]},"items":[`)
		for i := range items {
			_, _ = fmt.Fprintf(w, `%s{"metadata":{"name":"p%d","annotations":{"a":"%s"}}}`, strings.Repeat(",", min(i, 1)), i, long)
		}
		_, _ = io.WriteString(w, `],"apiVersion":"v1"}`)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func TestPs_NoList(t *testing.T) {
	var answer atomic.Value
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer.Load().(string)) }))
	defer s.Close()
	server := strings.TrimPrefix(s.URL, "http://")
	for text, want := range map[string]string{
		"": "EOF", "[]": "expected {, not [", `{"items": {}}`: "expected [, not {", `{"items": [{}`: "EOF", `{"items": [1]}`: "json: cannot unmarshal number into Go value of type v1.Pod",
	} {
		answer.Store(text)
		code, stdout, stderr := called("ps", "--server", server)
		assert.Equal(t, exitFailed, code)
		assert.Empty(t, stdout)
		assert.Equal(t, "agent: the answer of "+server+" is not a list of pods: "+want+"\n", stderr)
	}
	answer.Store(`{"items": []}`)
	code, _, _ := called("ps", "--server", server)
	assert.Equal(t, exitOK, code)
}

// TestCommands_NoPackageNames: no error that the agent prints contains the prefix of a package.
func TestCommands_NoPackageNames(t *testing.T) {
	dir := t.TempDir()
	waiting := strings.ReplaceAll(strings.ReplaceAll(talker, "talker", "waiting"), "    command", "    envFrom: [{configMapRef: {name: missing}}]\n    command")
	over := "apiVersion: v1\nkind: Pod\nmetadata: {name: over}\nspec: {restartPolicy: Never, containers: [{name: main, image: i, command: ['true']}]}\n"
	for name, text := range map[string]string{"talker.yaml": talker, "waiting.yaml": waiting, "over.yaml": over, "bad.yaml": "kind: Pod\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	o, err := parseAgentOptions([]string{"--manifests", dir, "--objects", t.TempDir(), "--listen", "127.0.0.1:0", "--node-name", "n", "--events", "false", "--exec", "true"})
	require.NoError(t, err)
	out, log := newLines(), newLines()
	a, err := newAgent(o, out, log)
	require.NoError(t, err)
	signals, ended := make(chan os.Signal, 1), make(chan error, 1)
	go func() { ended <- a.runUntilStopped(signals) }()
	for awaited := map[string]string{"talker-n": "2/2", "over-n": "Completed", "waiting-n": "CreateContainerConfigError"}; len(awaited) > 0; {
		words := strings.Fields(out.next(t))
		if len(words) > 2 && slices.Contains(words, awaited[words[0]]) {
			delete(awaited, words[0])
		}
	}
	var said []string
	for _, args := range []string{
		"ps", "explain waiting-n", "explain over-n", "explain none", "explain a b", "explain A_B",
		"logs none", "logs waiting-n", "logs over-n --previous", "logs talker-n -c none", "logs talker-n --tail x", "logs talker-n --since x", "logs A_B",
		"exec none -- true", "exec over-n -- true", "exec waiting-n -- true", "exec talker-n -c none -- true", "exec talker-n -- /no/such", "exec talker-n",
	} {
		words := strings.Fields(args)
		_, stdout, stderr := called(append([]string{words[0], "--server", a.portAddress()}, words[1:]...)...)
		said = append(said, stdout, stderr)
	}
	signals <- os.Interrupt
	require.NoError(t, <-ended)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink("nowhere/at/all", link))
	for _, args := range []string{
		"--state-dir " + link, "--runtime cri --state-dir " + link, "--listen here", "--manifests /no/such", "--node-name " + strings.Repeat("n", 300),
		"ps --server 127.0.0.1:1", "logs x --server 127.0.0.1:1", "ps --server ://", "exec x --server 127.0.0.1:1 -- true", "no-such-verb",
	} {
		_, stdout, stderr := called(strings.Fields(args)...)
		said = append(said, stdout, stderr)
	}
	packages := regexp.MustCompile(`(?m)(^|: |; |\()(agent: )?(node|runtime|objects|podsync|podworkers|memory|volumes|manifest|source|debug|pleg|cri|checkpoint|syncloop|status|lifecycle|gc): `)
	all := strings.Join(said, "")
	assert.Contains(t, all, "there is no ConfigMap default/missing")
	for line := range strings.Lines(all) {
		assert.NotRegexp(t, packages, line)
	}
}
