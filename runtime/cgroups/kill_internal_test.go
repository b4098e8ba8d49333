package cgroups

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakeProcess records its signals and its release.
type fakeProcess struct {
	pid int
	err error // of Signal
	log *[]string
}

func (p fakeProcess) Signal(s os.Signal) error {
	*p.log = append(*p.log, fmt.Sprintf("%v %d", s, p.pid))
	return p.err
}

func (p fakeProcess) Release() error {
	*p.log = append(*p.log, fmt.Sprintf("release %d", p.pid))
	return nil
}

// A process is killed only if the cgroup has its ID after the process was opened: by then another process may have the
// ID. The members are read until no others come, maxKillRounds times at most (CG-16).
func TestKillMembers_CG16(t *testing.T) {
	self := os.Getpid()
	errOpen := errors.New("cannot open")
	for _, c := range []struct {
		name    string
		reads   [][]int // the last one is repeated
		signal  map[int]error
		open    map[int]error
		readErr int // the read that fails, from 1
		want    string
		err     error
	}{
		{name: "nothing", reads: [][]int{{}}, want: "read"},
		{name: "the calling process and process 1", reads: [][]int{{1, self}}, want: "read"},
		{name: "members", reads: [][]int{{7, 1, 8}, {7, 1, 8}, {}}, want: "read open 7 open 8 read killed 7 killed 8 release 7 release 8 read"},
		{name: "a dying member is killed once", reads: [][]int{{7}}, want: "read open 7 read killed 7 release 7 read"},
		{name: "another process has the ID", reads: [][]int{{7, 8}, {8}, {}}, want: "read open 7 open 8 read killed 8 release 7 release 8 read"},
		{name: "a fork", reads: [][]int{{7}, {7, 9}, {9}, {9}, {}}, want: "read open 7 read killed 7 release 7 read open 9 read killed 9 release 9 read"},
		{
			name: "the process has exited", reads: [][]int{{7}, {7}, {}}, signal: map[int]error{7: os.ErrProcessDone},
			want: "read open 7 read killed 7 release 7 read",
		},
		{
			name: "no permission", reads: [][]int{{7}}, signal: map[int]error{7: syscall.EPERM}, err: syscall.EPERM,
			want: strings.TrimSpace(strings.Repeat("read open 7 read killed 7 release 7 ", maxKillRounds)),
		},
		{name: "not opened", reads: [][]int{{7}, {7}, {}}, open: map[int]error{7: errOpen}, want: "read open 7 read read"},
		{
			name: "never opened", reads: [][]int{{7}}, open: map[int]error{7: errOpen}, err: errOpen,
			want: strings.TrimSpace(strings.Repeat("read open 7 read ", maxKillRounds)),
		},
		{name: "not readable", reads: [][]int{{7}}, readErr: 1, err: syscall.EOPNOTSUPP, want: "read"},
		{name: "not readable later", reads: [][]int{{7}}, readErr: 2, want: "read open 7 read release 7 read open 7 read killed 7 release 7 read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log []string
			reads := 0
			read := func() ([]int, error) {
				log = append(log, "read")
				if reads++; reads == c.readErr {
					return nil, syscall.EOPNOTSUPP
				}
				return append([]int(nil), c.reads[min(reads, len(c.reads))-1]...), nil
			}
			open := func(pid int) (process, error) {
				log = append(log, fmt.Sprint("open ", pid))
				return fakeProcess{pid, c.signal[pid], &log}, c.open[pid]
			}
			err := killMembers(read, open)
			assert.ErrorIs(t, err, c.err)
			assert.Equal(t, c.want, strings.Join(log, " "))
		})
	}
}

// Many processes are opened in parts, and all are killed.
func TestKillMembers_Batches(t *testing.T) {
	const n = 3*maxOpenProcesses + 1
	const first = 1 << 30 // Larger than any PID, because killMembers never kills the process of the test.
	alive, open, most := map[int]bool{}, 0, 0
	for pid := first; pid < first+n; pid++ {
		alive[pid] = true
	}
	read := func() (pids []int, err error) {
		for pid := range alive {
			pids = append(pids, pid)
		}
		return pids, nil
	}
	err := killMembers(read, func(pid int) (process, error) {
		open++
		most = max(most, open)
		return funcProcess{func() { delete(alive, pid) }, func() { open-- }}, nil
	})
	assert.NoError(t, err)
	assert.Empty(t, alive)
	assert.Equal(t, maxOpenProcesses, most)
	assert.Zero(t, open)
}

// funcProcess calls a function for each call.
type funcProcess struct{ signal, release func() }

func (p funcProcess) Signal(os.Signal) error { p.signal(); return nil }
func (p funcProcess) Release() error         { p.release(); return nil }

// TestHostFiles_ReadMembers_Cut: of a list of processes that is too long, the last ID is left out if it may be cut. Its
// beginning is the ID of a foreign process.
func TestHostFiles_ReadMembers_Cut(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "pod"), 0o750))
	list := bytes.Repeat([]byte("1234567\n"), maxFileBytes/8-1)
	list = append(list, "765432\n1234567\n"...)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pod", processesFile), list, 0o600))
	pids, err := NewHostFiles(dir).readMembers("/pod")
	require.NoError(t, err)
	assert.Equal(t, []int{maxFileBytes / 8, 765432}, []int{len(pids), pids[len(pids)-1]}) // The whole list would be a long message.
}
