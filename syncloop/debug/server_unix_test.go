//go:build unix

package debug_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/syncloop/debug"
)

// fewFiles is how many files the program of the test may have open.
const fewFiles = 64

// TestServer_ReserveOfFiles: 500 requests whose body never comes do not keep a
// program that may open few files from opening its own, nor the server from
// answering soon afterwards.
func TestServer_ReserveOfFiles(t *testing.T) {
	if os.Getenv("DEBUG_TEST_FEW_FILES") != "" {
		serveWithFewFiles(t)
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestServer_ReserveOfFiles$", "-test.v")
	child.Env = append(os.Environ(), "DEBUG_TEST_FEW_FILES=1")
	stdin, err := child.StdinPipe()
	require.NoError(t, err)
	stdout, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	lines := bufio.NewScanner(stdout)
	said := func(begin string) string {
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), begin); ok {
				return text
			}
		}
		require.Fail(t, "the program does not say", begin)
		return ""
	}
	address := said("listens at ")
	for range 500 {
		c, err := net.Dial("tcp", address)
		require.NoError(t, err)
		defer c.Close()
		_, _ = io.WriteString(c, "POST /exec/default/web HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n")
	}
	_, _ = io.WriteString(stdin, "now\n")
	assert.Equal(t, "40 files", said("opened "))
	require.NoError(t, stdin.Close())
	require.NoError(t, child.Wait())
}

// serveWithFewFiles is the program.
func serveWithFewFiles(t *testing.T) {
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: fewFiles, Max: fewFiles}))
	h, err := debug.New(everything())
	require.NoError(t, err)
	s, err := debug.NewServer(debug.ServerConfig{Handler: h})
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = s.Run(t.Context(), l) }()
	fmt.Println("listens at", l.Addr())
	in := bufio.NewReader(os.Stdin)
	_, _ = in.ReadString('\n')
	opened := 0
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for range 40 {
		f, err := os.Open(file)
		if err != nil {
			break
		}
		defer f.Close()
		opened++
	}
	fmt.Println("opened", opened, "files")
	_, _ = in.ReadString('\n')
}

// TestServer_ConnectionsForFiles: most files are left to the program.
func TestServer_ConnectionsForFiles(t *testing.T) {
	for files, want := range map[uint64]int{0: 256, 1: 4, 64: 8, 256: 32, 1024: 128, 2048: 256, 1 << 40: 256} {
		assert.Equal(t, want, debug.ConnectionsFor(files), files)
	}
}
