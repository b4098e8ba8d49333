package clusterlab_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// checkStreams checks the input of exec from pipes and from a terminal, and file copies in both directions.
func (j *joint) checkStreams() {
	j.createShellPod("tools", "Never", "sleep 3600")
	j.applyManifest(`
apiVersion: v1
kind: Pod
metadata: {name: reader}
spec:
  nodeName: n1
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: $IMAGE, command: [cat], stdin: true, stdinOnce: true}]
`)
	j.kubectl("wait", "--for=condition=Ready", "pod/tools", "pod/reader", "--timeout=60s")
	text := strings.Repeat("0123456789abcde\n", 1<<16)
	out, complaint, code := j.runKubectl(text, "exec", "-i", "tools", "--", "sh", "-c", "cat; echo complaint >&2; exit 3")
	assert.Equal(j, 3, code)
	assert.Equal(j, "complaint\ncommand terminated with exit code 3\n", complaint)
	assert.True(j, text == out, "%d bytes of %d", len(out), len(text))
	out, complaint, code = j.runKubectl("echo one\nexit 9\n", "exec", "-i", "tools", "--", "sh")
	assert.Equal(j, "one\n 9", fmt.Sprint(out, " ", code), complaint)
	out, complaint, code = j.runKubectl("hello\n", "attach", "-i", "reader")
	assert.Equal(j, "hello\n 0", fmt.Sprint(out, " ", code), complaint)
	j.waitForFields("Succeeded", "{.status.phase}", "pod/reader")
	assert.Equal(j, "hello\n", j.podLogs("reader", "--tail=1"))
	j.checkCopy(text)
	j.checkTerminal()
	j.kubectl("delete", "pod", "tools", "reader")
}

// checkCopy checks that kubectl cp copies files and a directory byte for byte in both directions.
func (j *joint) checkCopy(text string) {
	dir := j.TempDir()
	require.NoError(j, os.MkdirAll(filepath.Join(dir, "there", "deep"), 0o700))
	files := map[string]string{"there/big": text, "there/deep/empty": "", "there/deep/bytes": "\x00\xff\r\n\x03"}
	for name, content := range files {
		require.NoError(j, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	j.kubectl("cp", filepath.Join(dir, "there", "big"), "tools:/tmp-big")
	j.kubectl("cp", "tools:/tmp-big", filepath.Join(dir, "back-big"))
	j.kubectl("cp", filepath.Join(dir, "there"), "tools:/copied")
	j.kubectl("cp", "tools:/copied", filepath.Join(dir, "back"))
	files["there-big"] = text
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(dir, strings.Replace(name, "there", "back", 1)))
		require.NoError(j, err)
		assert.True(j, want == string(got), "%s: %d bytes of %d", name, len(got), len(want))
	}
	if j.runtime != nil {
		return // A real tar ends its archive before it fails, and kubectl may end before it hears of that.
	}
	out, complaint, code := j.runKubectl("", "cp", "tools:/none", filepath.Join(dir, "none"))
	assert.NotZero(j, code)
	assert.Contains(j, out+complaint, "No such file or directory")
}

// checkTerminal opens a shell on a real terminal. The size of the terminal changes, and Ctrl-C interrupts only a command. It
// also opens a debug container on another terminal.
func (j *joint) checkTerminal() {
	s := j.onTerminal(80, 24, "exec", "-it", "tools", "--", "sh")
	s.waitForText("# ")
	s.typeKeys("stty size\r", "24 80")
	s.resizeTerminal(132, 50)
	for began := time.Now(); !strings.Contains(s.screenText(), "50 132"); time.Sleep(200 * time.Millisecond) {
		require.Less(j, time.Since(began), joinLimit, "%q", s.screenText())
		s.typeKeys("stty size\r", "stty size")
	}
	s.typeKeys("echo sl''eeps; sleep 1000\r", "sleeps") // What is typed before a command runs is the shell's.
	s.interruptUntil("# ")
	s.typeKeys("echo re''ads; cat\r", "reads")
	s.typeKeys("typed\r", "typed\r\ntyped")
	s.typeKeys("\x04", "# ")
	s.typeKeys("exit 7\r", "exit 7")
	assert.Equal(j, 7, s.waitForExit())
	s = j.onTerminal(80, 24, "debug", "-it", "tools", "--image="+j.images[1], "--container=debugger", "--profile=general", "--", "sh")
	s.waitForText("# ", "press") // Its prompt may have come before kubectl attached.
	s.typeKeys("\r", "# ")
	s.typeKeys("echo he''llo\r", "hello")
	s.typeKeys("exit 5\r", "exit 5")
	_ = s.waitForExit() // kubectl says 0 or the code, depending on which it hears of first.
	j.waitForFields("5", "{.status.ephemeralContainerStatuses[0].state.terminated.exitCode}", "pod/tools")
}

// session is kubectl on a pseudo terminal.
type session struct {
	*testing.T
	keys    *os.File
	command *exec.Cmd

	mu     sync.Mutex
	shown  bytes.Buffer
	seen   int // texts that were waited for
	closed chan struct{}
}

// onTerminal starts kubectl on a new pseudo terminal.
func (j *joint) onTerminal(columns, rows uint16, args ...string) *session {
	j.Helper()
	return onTerminal(j.T, columns, rows, kubectlCommand(j.T, j.lab), args...)
}

// onTerminal starts a command on a new pseudo terminal.
func onTerminal(t *testing.T, columns, rows uint16, command func(ctx context.Context, args ...string) *exec.Cmd, args ...string) *session {
	t.Helper()
	main, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	number, err := unix.IoctlGetInt(int(main.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetPointerInt(int(main.Fd()), unix.TIOCSPTLCK, 0))
	end, err := os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), joinLimit)
	s := &session{T: t, keys: main, command: command(ctx, args...), closed: make(chan struct{})}
	s.resizeTerminal(columns, rows)
	s.command.Stdin, s.command.Stdout, s.command.Stderr = end, end, end
	s.command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, s.command.Start())
	require.NoError(t, end.Close())
	go s.readOutput()
	t.Cleanup(func() {
		cancel()
		_ = s.command.Wait()
		<-s.closed
		_ = main.Close()
	})
	return s
}

// readOutput stores the output until kubectl exits.
func (s *session) readOutput() {
	defer close(s.closed)
	for buf := make([]byte, 4096); ; {
		n, err := s.keys.Read(buf)
		s.mu.Lock()
		s.shown.Write(buf[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (s *session) screenText() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.String()
}

func (s *session) resizeTerminal(columns, rows uint16) {
	s.Helper()
	require.NoError(s, unix.IoctlSetWinsize(int(s.keys.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows}))
}

// waitForText waits until one of the texts appears after the text of the last call.
func (s *session) waitForText(any ...string) {
	s.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		screen := s.screenText()
		for _, text := range any {
			if at := strings.Index(screen[s.seen:], text); at >= 0 {
				s.seen += at + len(text)
				return
			}
		}
		require.Less(s, time.Since(began), joinLimit, "%q is not shown after %q", any, screen)
	}
}

func (s *session) typeKeys(keys, shows string) {
	s.Helper()
	s.mu.Lock()
	s.seen = s.shown.Len()
	s.mu.Unlock()
	_, err := s.keys.WriteString(keys)
	require.NoError(s, err)
	s.waitForText(shows)
}

// interruptUntil types Ctrl-C until a text is shown. The first one may reach the shell instead of the command, because
// the shell is still starting the command.
func (s *session) interruptUntil(shows string) {
	s.Helper()
	seen := len(s.screenText())
	for began := time.Now(); !strings.Contains(s.screenText()[seen:], shows); time.Sleep(time.Second) {
		require.Less(s, time.Since(began), joinLimit, "%q is not shown after %q", shows, s.screenText())
		_, err := s.keys.WriteString("\x03")
		require.NoError(s, err)
	}
}

// waitForExit waits until kubectl exits, and returns its exit code.
func (s *session) waitForExit() int {
	s.Helper()
	_ = s.command.Wait()
	return s.command.ProcessState.ExitCode()
}
