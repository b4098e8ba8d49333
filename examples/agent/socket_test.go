//go:build unix

package main

import (
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// startTalker runs an agent with a pod that has the secret "hunter2" in its environment, until the test ends. It
// returns the agent and the lines of its log.
func startTalker(t *testing.T, change func(*options), args ...string) (*agent, lines) {
	t.Helper()
	dir := t.TempDir()
	text := strings.Replace(talker, "    command", "    env: [{name: PASSWORD, value: hunter2}]\n    command", 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "talker.yaml"), []byte(text), 0o600))
	o, err := parseAgentOptions(append([]string{"--manifests", dir, "--node-name", "n", "--events=false"}, args...))
	require.NoError(t, err)
	change(&o)
	out, log := newLines(), newLines()
	a, err := newAgent(o, out, log)
	require.NoError(t, err)
	signals, ended := make(chan os.Signal, 1), make(chan error, 1)
	go func() { ended <- a.runUntilStopped(signals) }()
	t.Cleanup(func() {
		signals <- os.Interrupt
		assert.NoError(t, <-ended)
	})
	out.until(t, "talker-n", "2/2", "Running")
	return a, log
}

// getText sends a request over TCP, as any local user can.
func getText(t *testing.T, address, path string) (code int, body string) {
	t.Helper()
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + address + path)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}

// anyPort makes an agent listen on a free port, as if that were the default one.
func anyPort(o *options) { o.listen = "127.0.0.1:0" }

// TestAccess_WithoutFlagOnlyTheUser: without a flag the commands use a socket of mode 0600, and the port serves health
// and metrics, no pods.
func TestAccess_WithoutFlagOnlyTheUser(t *testing.T) {
	a, log := startTalker(t, anyPort, "--exec")
	socket := filepath.Join(os.Getenv("RUNTIME_DIRECTORY"), "agent.sock")
	assert.Equal(t, socket, a.local.String())
	info, err := os.Lstat(socket)
	require.NoError(t, err)
	assert.Equal(t, fs.ModeSocket|0o600, info.Mode())

	code, stdout, stderr := called("ps")
	assert.Equal(t, exitOK, code, stderr)
	assert.Regexp(t, `(?m)^talker-n +2/2 +Running +0 +\d+s$`, stdout)
	code, stdout, stderr = called("logs", "talker", "-c", "other")
	assert.Equal(t, exitOK, code, stderr)
	assert.Equal(t, "other\n", stdout)
	code, stdout, _ = called("explain", "talker")
	assert.Equal(t, exitOK, code)
	assert.True(t, strings.HasPrefix(stdout, "default/talker-n is Running"), stdout)
	code, stdout, stderr = called("exec", "talker", "--", "sh", "-c", "echo hello; exit 7")
	assert.Equal(t, 7, code, stderr)
	assert.Equal(t, "hello\n", stdout)
	code, stdout, stderr = called("ps", "-o", "json", "--server", "unix://"+socket)
	assert.Equal(t, exitOK, code, stderr)
	assert.Contains(t, stdout, "hunter2")

	code, body := getText(t, a.portAddress(), "/healthz")
	assert.Equal(t, 200, code)
	assert.Equal(t, "ok", body)
	code, body = getText(t, a.portAddress(), "/metrics")
	assert.Equal(t, 200, code)
	assert.NotContains(t, body, "hunter2")
	for _, path := range []string{"/pods", "/explain/default/talker-n", "/logs/default/talker-n/other", "/timeline/default/talker-n", "/faults", "/stats/summary"} {
		code, body := getText(t, a.portAddress(), path)
		assert.Equal(t, 403, code, path)
		assert.Equal(t, "this address serves health and metrics only, because every user of the machine can reach it; "+
			"the agent's user can use the socket "+socket+", or starts the agent with --listen 127.0.0.1:0\n", body, path)
	}
	a.flushLogs()
	for _, line := range log.logged() {
		assert.NotContains(t, line, "credentials")
	}
}

// TestAccess_ExplicitListenServesEverything: with a flag for the address or the port, the port serves everything, and
// the log says once who can read it.
func TestAccess_ExplicitListenServesEverything(t *testing.T) {
	for _, args := range [][]string{{"--listen", "127.0.0.1:7"}, {"--port", "7"}, {"--address", "127.0.0.1"}, {"--listen", "127.0.0.1:10348"}} {
		t.Run(args[0], func(t *testing.T) {
			a, log := startTalker(t, anyPort, args...)
			code, body := getText(t, a.portAddress(), "/pods")
			assert.Equal(t, 200, code)
			assert.Contains(t, body, "hunter2")
			for _, server := range [][]string{nil, {"--server", a.portAddress()}} {
				code, stdout, stderr := called(append([]string{"ps"}, server...)...)
				assert.Equal(t, exitOK, code, stderr)
				assert.Contains(t, stdout, "talker-n")
			}
			a.flushLogs()
			var warned []string
			for _, line := range log.logged() {
				if strings.Contains(line, "credentials") {
					_, line, _ = strings.Cut(line, " ")
					warned = append(warned, line)
				}
			}
			assert.Equal(t, []string{`level=WARN msg="the debug handler requires no credentials: pods, their environment and their logs are not secret" listen=` + a.portAddress() + ` readers="every local user"` + "\n"}, warned)
		})
	}
}

// TestSocket_TakenAndStale: an agent replaces the socket of an agent that has exited. It replaces no socket that is in
// use, and no other file.
func TestSocket_TakenAndStale(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "agent.sock")
	first, err := listenSocket(path)
	require.NoError(t, err)
	_, err = listenSocket(path)
	assert.ErrorIs(t, err, errSocketTaken)
	code, _, stderr := called("--listen", "", "--socket", path)
	assert.Equal(t, exitUsage, code)
	assert.Equal(t, `agent: --socket "`+path+`": another agent listens there`+"\n", stderr)

	require.NoError(t, first.Listener.Close()) // As the kernel does when a process is killed.
	assert.FileExists(t, path)
	second, err := listenSocket(path)
	require.NoError(t, err)
	_ = first.Close() // Its listener is closed already.
	assert.FileExists(t, path, "it is the second one's")
	c, err := net.Dial("unix", path)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.NoError(t, second.Close())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries, "nothing is left behind")

	require.NoError(t, os.WriteFile(path, []byte("mine"), 0o600))
	_, err = listenSocket(path)
	assert.EqualError(t, err, "the file is not a socket")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "mine", string(text))
	_, err = listenSocket(filepath.Join(dir, "none", "x"))
	assert.EqualError(t, err, "no such file or directory")
	_, err = listenSocket(filepath.Join(dir, strings.Repeat("x", 200)))
	assert.ErrorContains(t, err, " bytes too long for a socket")
}

// TestSocket_AtOnce: if agents start at once, one of them gets the socket, also after an agent that was killed at any
// moment. The others get an error, and none listens on an unreachable socket.
func TestSocket_AtOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "agent.sock")
	const rounds, agents = 30, 8
	for range rounds {
		got, errs := make([]*socket, agents), make([]error, agents)
		var all sync.WaitGroup
		for i := range agents {
			all.Go(func() { got[i], errs[i] = listenSocket(path) })
		}
		all.Wait()
		listening := 0
		for i, s := range got {
			if s == nil {
				require.ErrorIs(t, errs[i], errSocketTaken)
				continue
			}
			listening++
			now, err := os.Lstat(path)
			require.NoError(t, err)
			require.True(t, os.SameFile(now, s.file))
			require.NoError(t, s.Listener.Close()) // As the kernel does when a process is killed.
		}
		require.Equal(t, 1, listening)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "the last socket only")

	left, claim, err := createAndLockSocketDir(path)
	require.NoError(t, err)
	_, err = listenSocket(path)
	require.ErrorIs(t, err, errSocketTaken, "another agent is about to listen")
	require.NoError(t, os.WriteFile(filepath.Join(left, "s"), nil, 0o600))
	require.NoError(t, claim.Close())
	s, err := listenSocket(path)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, os.Mkdir(left, 0o700))
	require.NoError(t, os.Chmod(left, 0o777))
	_, err = listenSocket(path)
	require.EqualError(t, err, "another user may write to "+left)
}

// TestSocket_DefaultTaken: two agents of one user run at the same time. The second one logs that it has no socket.
func TestSocket_DefaultTaken(t *testing.T) {
	a, _ := startTalker(t, func(*options) {}, "--listen", "127.0.0.1:0")
	b, log := startTalker(t, func(*options) {}, "--listen", "127.0.0.1:0")
	assert.NotEqual(t, "none", a.local.String())
	assert.Equal(t, "none", b.local.String())
	log.until(t, "the agent has no socket", "another agent listens there")
	code, stdout, stderr := called("ps", "--server", b.portAddress())
	assert.Equal(t, exitOK, code, stderr)
	assert.Contains(t, stdout, "talker-n")
}

// TestSocket_NoHandler: with --listen "" the agent serves only on a socket that a flag names. The command run has no
// socket.
func TestSocket_NoHandler(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sock")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--listen", ""}, ""},
		{[]string{"--listen", "", "--socket", path}, path},
		{[]string{"--socket", path, "--listen", ""}, path},
		{[]string{"--socket", ""}, ""},
		{nil, filepath.Join(os.Getenv("RUNTIME_DIRECTORY"), "agent.sock")},
	} {
		o, err := parseAgentOptions(c.args)
		require.NoError(t, err)
		assert.Equal(t, c.want, o.socket, c.args)
	}
}

// TestDefaultSocket: the directory belongs to the user, and a directory of another user is not used.
func TestDefaultSocket(t *testing.T) {
	env := func(values map[string]string) func(string) string {
		return func(name string) string { return values[name] }
	}
	assert.Equal(t, systemSocket(), defaultSocket(env(map[string]string{"XDG_RUNTIME_DIR": "/run/user/0"}), 0))
	assert.Equal(t, "/run/user/7/podkeel/agent.sock", defaultSocket(env(map[string]string{"XDG_RUNTIME_DIR": "/run/user/7"}), 7))
	assert.Equal(t, filepath.Join(os.TempDir(), "podkeel-7", "agent.sock"), defaultSocket(env(map[string]string{"XDG_RUNTIME_DIR": "here"}), 7))
	assert.Equal(t, "/run/a/agent.sock", defaultSocket(env(map[string]string{"RUNTIME_DIRECTORY": "/run/a:/run/b"}), 0))

	run := t.TempDir()
	own := env(map[string]string{"XDG_RUNTIME_DIR": run})
	path := defaultSocket(own, 7)
	require.NoError(t, createPrivateSocketDir(path))
	info, err := os.Stat(filepath.Dir(path))
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
	s, err := listenSocket(path)
	require.NoError(t, err)
	defer s.Close()
	assert.Equal(t, path, usableUserSocketOrRootSocket(own, 7))
	require.NoError(t, os.Chmod(filepath.Dir(path), 0o777))
	assert.EqualError(t, createPrivateSocketDir(path), "another user may write to "+filepath.Dir(path))
	if _, err := os.Lstat(systemSocket()); err != nil {
		assert.Equal(t, path, usableUserSocketOrRootSocket(own, 7), "there is no other")
	}
	require.NoError(t, os.RemoveAll(filepath.Dir(path)))
	require.NoError(t, os.Symlink(run, filepath.Dir(path)))
	assert.EqualError(t, createPrivateSocketDir(path), filepath.Dir(path)+" is not a directory")
}

// TestClient_Unreachable: a command tells the user what to do about an agent that cannot be reached.
func TestClient_Unreachable(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none.sock")
	_, _, stderr := called("ps", "--server", none)
	assert.Equal(t, "agent: no agent answers at "+none+"; is it running, as this user? --server names another address or socket (dial unix "+none+": connect: no such file or directory)\n", stderr)
	denied := client{none}.unreachableError(&net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", fs.ErrPermission)})
	assert.EqualError(t, denied, "only the user of the agent and root may connect to the agent at "+none+" (dial unix: connect: permission denied)")
}
