package main

import (
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/runtime"
)

// TestResolver: the resolver configuration of the host is read when a pod needs it.
func TestResolver(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "stub.conf"), filepath.Join(dir, "resolv.conf")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("nameserver 192.0.2.1\nsearch example.org\noptions rotate\n")
	require.NoError(t, os.Symlink(file, link))
	o, err := parseAgentOptions([]string{"--manifests", ".", "--runtime", "cri", "--resolv-conf", link})
	require.NoError(t, err)
	read, err := o.newReaderOfResolverFileOrDefault()
	require.NoError(t, err)
	got, err := read()
	require.NoError(t, err)
	assert.Equal(t, runtime.DNS{Servers: []string{"192.0.2.1"}, Searches: []string{"example.org"}, Options: []string{"rotate"}}, got)

	write("nameserver 192.0.2.2\n")
	got, err = read()
	require.NoError(t, err)
	assert.Equal(t, runtime.DNS{Servers: []string{"192.0.2.2"}}, got)

	write(strings.Repeat("#", maxResolver+1))
	_, err = read()
	assert.EqualError(t, err, link+": has more than 65536 bytes")
	require.NoError(t, os.Remove(file))
	_, err = read()
	assert.EqualError(t, err, link+": no such file or directory")
}

// TestResolver_Default: without the flag it is the host's, if the host has one. An empty flag leaves it to the runtime.
func TestResolver_Default(t *testing.T) {
	read, err := (&options{}).newReaderOfResolverFileOrDefault()
	require.NoError(t, err)
	got, err := read()
	require.NoError(t, err)
	want, _ := readResolver(defaultResolver)
	assert.Equal(t, want, got)

	read, err = (&options{resolver: new("")}).newReaderOfResolverFileOrDefault()
	require.NoError(t, err)
	assert.Nil(t, read)
}

// TestReadFileAtMost_KernelFile: a kernel file is rejected, because a read of /proc/kmsg waits for the next message.
func TestReadFileAtMost_KernelFile(t *testing.T) {
	if goruntime.GOOS != "linux" {
		t.Skip("it is about /proc")
	}
	_, err := readFileAtMost("/proc/version", maxConfigSize)
	assert.EqualError(t, err, "not a regular file: a file of the kernel")
}
