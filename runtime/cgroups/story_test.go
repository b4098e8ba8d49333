package cgroups_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/runtime/cgroups"
	"github.com/podkeel/podkeel/runtime/cgroups/cgroupstest"
)

// testRoot returns the root /podkeel-test.
func testRoot(t require.TestingT) cgroups.Root {
	root, err := cgroups.RootForOwner("test")
	require.NoError(t, err)
	return root
}

// parseValue parses a number, "max" or "".
func parseValue(text string) podresources.Value {
	switch text {
	case "":
		return podresources.Value{}
	case "max":
		return podresources.Unlimited()
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return podresources.Finite(n)
}

// parseGroup parses "/dir shares=2 quota=1000 period=… memory=… memswap=… high=… oomgroup=1 pids=max".
func parseGroup(words []string) cgroups.Group {
	g := cgroups.Group{Dir: words[0]}
	for _, word := range words[1:] {
		name, text, _ := strings.Cut(word, "=")
		*map[string]*podresources.Value{
			"shares": &g.Values.CPUShares, "quota": &g.Values.CPUQuota, "period": &g.Values.CPUPeriod, "memory": &g.Values.Memory,
			"memswap": &g.Values.MemorySwap, "high": &g.Values.MemoryHigh, "oomgroup": &g.Values.OOMGroup, "pids": &g.Values.PIDs,
		}[name] = parseValue(text)
	}
	return g
}

// story is a host and its cgroups.
type story struct {
	t    *testing.T
	dir  *cgroupstest.Dir
	c    cgroups.Capabilities
	want []cgroups.Group
}

// plan returns the writes that are missing.
func (s *story) plan() []cgroups.Write {
	have, err := cgroups.Read(s.dir, s.c, s.want)
	require.NoError(s.t, err)
	return cgroups.Plan(s.c, s.want, have)
}

// makeWrite makes one write and returns its line with the error.
func (s *story) makeWrite(w cgroups.Write) string {
	line := strings.ReplaceAll(w.String(), "/sys/fs/cgroup", "")
	var err error
	if w.Mkdir {
		err = s.dir.Mkdir(w.Path)
	} else {
		err = s.dir.WriteFile(w.Path, []byte(w.Content))
	}
	if cause := (*fs.PathError)(nil); errors.As(err, &cause) {
		line += " -> " + cause.Err.Error()
	}
	return line + "\n"
}

// run executes one line.
func (s *story) run(line string) string {
	words := strings.Fields(line)
	switch words[0] {
	case "host": // host v1|hybrid|v2 [swap] [readonly] [without=pids]
		config := cgroupstest.Config{Mode: words[1]}
		for _, word := range words[2:] {
			config.Swap = config.Swap || word == "swap"
			config.ReadOnly = config.ReadOnly || word == "readonly"
			if name, ok := strings.CutPrefix(word, "without="); ok {
				config.Without = append(config.Without, name)
			}
		}
		s.dir = cgroupstest.New(config)
		s.c = cgroups.Probe(s.dir, testRoot(s.t))
		s.c.PageSize = 4096
		return fmt.Sprintf("%v, %s\n", s.c.State, s.c.Mode())
	case "want": // want <dir> <values>, once for each group
		group := parseGroup(words[1:])
		for i := range s.want {
			if s.want[i].Dir == group.Dir {
				s.want[i] = group
				return ""
			}
		}
		s.want = append(s.want, group)
		return ""
	case "forget": // forget the wanted groups
		s.want = nil
		return ""
	case "set": // set <path> <content>: another program
		s.dir.SetFile("/sys/fs/cgroup"+words[1], strings.Join(words[2:], " "))
		return ""
	case "remove": // remove <path>: another program
		require.NoError(s.t, s.dir.Remove("/sys/fs/cgroup"+words[1]))
		return ""
	case "plan": // plan [n]: make all writes, or the first n and then crash
		writes := s.plan()
		if len(words) > 1 {
			n, err := strconv.Atoi(words[1])
			require.NoError(s.t, err)
			writes = writes[:n]
		}
		out := ""
		for _, w := range writes {
			out += "  " + s.makeWrite(w)
			if err := s.dir.Check(); err != nil && !strings.Contains(line, "unchecked") {
				out += "  " + err.Error() + "\n"
			}
		}
		return out
	case "show": // show <path>
		text, err := s.dir.ReadFile(path.Join("/sys/fs/cgroup", words[1]))
		require.NoError(s.t, err)
		return "  " + strings.TrimSpace(string(text)) + "\n"
	}
	s.t.Fatalf("unknown command %q", line)
	return ""
}

// TestStories runs testdata: in each story a host has cgroups, and Plan changes them.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if !strings.HasSuffix(path, ".txt") {
			return // A property test stores its failures below testdata too.
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s := &story{t: t}
			var b strings.Builder
			for line := range strings.SplitSeq(strings.TrimSpace(d.Input), "\n") {
				answer := s.run(line)
				if answer == "" && strings.HasPrefix(line, "plan") {
					answer = "  nothing\n"
				}
				if answer != "" {
					b.WriteString(line + "\n" + answer)
				}
			}
			return b.String()
		})
	})
}
