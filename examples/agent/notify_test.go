package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNotify: READY when the node is ready, WATCHDOG at half the watchdog's timeout while the loop makes progress, the
// health when it changes, STOPPING at the end; in virtual time.
func TestNotify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var said []string
		n := &notifier{watchdogPeriod: 10 * time.Second, send: func(state string) error {
			said = append(said, fmt.Sprintf("%v %s", time.Since(began), strings.ReplaceAll(state, "\n", " ")))
			if strings.HasPrefix(state, "STOPPING") {
				return errors.New("no manager")
			}
			return nil
		}}
		ready := make(chan struct{})
		var stuck, sick atomic.Pointer[error] // nil is well
		told := func(p *atomic.Pointer[error]) func() error {
			return func() error {
				if err := p.Load(); err != nil {
					return *err
				}
				return nil
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan struct{})
		failed := func(err error) { said = append(said, err.Error()) }
		go func() {
			defer close(over)
			n.notifyUntilDone(ctx, nodeHealth{ready, told(&stuck), told(&sick)}, failed)
		}()
		time.Sleep(35 * time.Second)
		close(ready)
		time.Sleep(15 * time.Second)
		sick.Store(new(errors.New("the runtime\ndoes not answer\x1b")))
		time.Sleep(10 * time.Second)
		stuck.Store(new(errors.New("stuck")))
		time.Sleep(30 * time.Second)
		stuck.Store(nil)
		sick.Store(nil)
		time.Sleep(10 * time.Second)
		cancel()
		<-over
		n.sendStopping(failed)
		assert.Equal(t, []string{
			"35s READY=1 STATUS=healthy", "45s WATCHDOG=1", `55s WATCHDOG=1 STATUS=the runtime; does not answer\x1b`,
			"1m35s WATCHDOG=1 STATUS=healthy", "1m40s STOPPING=1 STATUS=ending", "no manager",
		}, said)
	})
}

// TestNotify_NeverReady: nothing is sent for a node that stops before it is ready.
func TestNotify_NeverReady(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n := &notifier{send: func(string) error { return errors.New("said") }}
	n.notifyUntilDone(ctx, nodeHealth{ready: make(chan struct{})}, func(error) { assert.Fail(t, "said something") })
}

// TestNewNotifier: the environment configures the notifier.
func TestNewNotifier(t *testing.T) {
	for _, c := range []struct {
		env   map[string]string
		none  bool
		every time.Duration
		err   string
	}{
		{none: true},
		{env: map[string]string{"WATCHDOG_USEC": "1000000"}, none: true},
		{env: map[string]string{"NOTIFY_SOCKET": "/x"}},
		{env: map[string]string{"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "30000000"}, every: 15 * time.Second},
		{env: map[string]string{"NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "2000000", "WATCHDOG_PID": fmt.Sprint(os.Getpid())}, every: time.Second},
		{env: map[string]string{"NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "1"}},
		{env: map[string]string{"NOTIFY_SOCKET": "vsock:2:1"}, none: true, err: `NOTIFY_SOCKET "vsock:2:1": expected a path or an abstract name`},
		{env: map[string]string{"NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "-1"}, err: "cannot notify the watchdog: error WATCHDOG_USEC must be a positive number"},
	} {
		for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
			t.Setenv(name, c.env[name])
		}
		n, err := newNotifier()
		assert.Equal(t, c.none, n == nil, c.env)
		if n != nil {
			assert.Equal(t, c.every, n.watchdogPeriod, c.env)
		}
		if c.err != "" {
			assert.EqualError(t, err, c.err)
		} else {
			assert.NoError(t, err)
		}
	}
}

// TestNotify_Agent: a whole agent notifies a real socket, given by a path and by an abstract name.
func TestNotify_Agent(t *testing.T) {
	names := []string{filepath.Join(t.TempDir(), "notify")}
	if runtime.GOOS == "linux" {
		names = append(names, fmt.Sprintf("@podkeel-test-%d", os.Getpid()))
	}
	for _, name := range names {
		socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
		require.NoError(t, err)
		t.Setenv("NOTIFY_SOCKET", name)
		t.Setenv("WATCHDOG_USEC", "20000")
		t.Setenv("WATCHDOG_PID", "")
		signals, ended := make(chan os.Signal, 1), make(chan int, 1)
		var out, log output
		go func() { ended <- run([]string{"--listen", "", "--manifests", t.TempDir()}, signals, &out, &log) }()
		require.NoError(t, socket.SetReadDeadline(time.Now().Add(30*time.Second)))
		next := func() string {
			text := make([]byte, 1000)
			n, err := socket.Read(text)
			require.NoError(t, err)
			return string(text[:n])
		}
		assert.Equal(t, "READY=1\nSTATUS=healthy", next())
		assert.Equal(t, "WATCHDOG=1", next())
		signals <- syscall.SIGTERM
		for said := next(); said != "STOPPING=1\nSTATUS=ending"; said = next() {
			assert.Equal(t, "WATCHDOG=1", said)
		}
		assert.Equal(t, exitOK, <-ended)
		require.NoError(t, socket.Close())
	}
}

// TestUnit: the unit file uses flags of the agent, and the settings for its notifications.
func TestUnit(t *testing.T) {
	text, err := os.ReadFile("podkeel.service")
	require.NoError(t, err)
	for _, line := range []string{"StartLimitIntervalSec=0", "Type=notify", "WatchdogSec=2min", "ExecReload=/bin/kill -HUP $MAINPID", "KillMode=process"} {
		assert.Contains(t, string(text), "\n"+line+"\n")
	}
	head, _, _ := strings.Cut(string(text), "\n[Service]\n")
	assert.Contains(t, head, "\nStartLimitIntervalSec=0", "in another section systemd ignores it")
	_, command, _ := strings.Cut(string(text), "\nExecStart=/usr/local/bin/podkeel ")
	command, _, _ = strings.Cut(command, "\n")
	line, err := (&options{}).allFlags().parseWithoutSettingOptions(strings.Fields(command))
	require.NoError(t, err)
	assert.Empty(t, line.args)
	for _, one := range line.items {
		assert.NotNil(t, one.flag, one)
	}
}
