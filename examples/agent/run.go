package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podmanager/source/manifest"
	"github.com/podkeel/podkeel/syncloop/node"
)

// runStateDir is the state directory of run on a CRI runtime where nothing is said. It is not
// that of an agent, so that both can run.
const runStateDir = "/var/lib/podkeel-run"

// runUsage is the help of run.
func runUsage() string {
	var o options
	return "Usage: agent run FILE ... [flags]\n\n" +
		"Runs the pods of files, or of standard input for -, until all have ended. The status is that\n" +
		"of the container that failed first, or 0. The first SIGINT or SIGTERM ends the pods within\n" +
		"their grace periods, with status 130; a second one kills them.\n\nFlags:\n\n" + o.runFlags().help()
}

// runFlags are those flags of the agent that make sense for pods that are not a directory's.
func (o *options) runFlags() flagSet {
	others := []string{"manifests", "manifest-period", "manifest-url", "manifest-url-header", "manifest-url-period", "strict", "config", "on-exit", "orphan-grace"}
	flags := slices.DeleteFunc(o.cliFlags(), func(f cliFlag) bool { return slices.Contains(others, f.name) })
	for name, meaning := range map[string]string{
		"listen":    "serve /pods, /timeline, /metrics ... to all users (none)",
		"socket":    "socket for this user's commands (none)",
		"log-level": "debug, info, warn or error (warn)",
		"state-dir": "directory for volumes, logs and statuses (none; with cri " + runStateDir + ")",
	} {
		flags.find(name).meaning = meaning
	}
	return append(flags, cliFlag{name: "logs", meaning: "print what containers write, each line behind [pod/POD/CONTAINER] (false)", set: boolean(&o.printLogs)})
}

// runFiles is the command run: it runs the pods of files and returns the status to end with.
func (p *program) runFiles(o *options, line *commandLine) int {
	err := o.readRun(line)
	var a *agent
	if err == nil {
		a, err = newAgent(*o, p.stdout, p.stderr)
	}
	if err != nil {
		complain(p.stderr, err)
		return exitUsage
	}
	err = a.run(p.signals)
	if err != nil {
		complainAtEnd(p.stderr, err)
	}
	if o.runtime == "memory" { // A person may take status 0 for the success of a program.
		complainAtEnd(p.stderr, errSimulated)
	}
	switch {
	case err != nil:
		return exitFailed
	case a.interrupted:
		return exitInterrupted
	}
	return exitCode(a.batch.states())
}

// errSimulated is the last line of run in memory.
var errSimulated = errors.New("the containers were simulated: no program of an image has run (--runtime cri runs them)")

// runDefaults are the defaults of run.
func runDefaults() options {
	o := defaults()
	o.listen, o.socket, o.logLevel, o.stopOnExit, o.orphanGrace = "", "", slog.LevelWarn, true, -1
	return o
}

// readRun sets what the command line of run says, and reads the files.
func (o *options) readRun(line *commandLine) error {
	if err := o.read(line); err != nil {
		return err
	}
	files := slices.Concat(line.words, line.rest)
	if len(files) == 0 {
		return errors.New("run needs the name of a file, or - for standard input (agent run --help)")
	}
	var err error
	if o.pods, err = podsOf(files); err != nil {
		return err
	}
	if o.runtime == "cri" && o.stateDir == "" {
		o.stateDir = runStateDir
	}
	return errors.Join(o.contradictions()...)
}

// podsOf reads the pods of files. Each has a UID of its own, also if the file names one: what
// ended in an earlier run is another pod.
func podsOf(files []string) ([]*v1.Pod, error) {
	var faults []error
	all := []*v1.Pod{}
	owner := map[types.NamespacedName]string{}
	for _, file := range files {
		pods, err := readPods(file)
		if err != nil {
			faults = append(faults, named(file, err))
		}
		for _, pod := range pods {
			name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
			if other, twice := owner[name]; twice {
				faults = append(faults, fmt.Errorf("%s: the pod %s is in %s too", file, name, other))
			}
			owner[name] = file
			pod.UID = types.UID(strings.ToLower(rand.Text()))
		}
		all = append(all, pods...)
	}
	return all, errors.Join(faults...)
}

// readPods reads one file.
func readPods(file string) ([]*v1.Pod, error) {
	var text []byte
	var err error
	if file == "-" {
		text, err = io.ReadAll(io.LimitReader(os.Stdin, manifest.MaxFileSize+1))
	} else {
		text, err = readAtMost(file, manifest.MaxFileSize)
	}
	if cause := (*os.PathError)(nil); errors.As(err, &cause) {
		return nil, cause.Err // The path is said.
	}
	if err != nil {
		return nil, err
	}
	return manifest.Decode(text)
}

// named is an error whose every line begins with the name of a file.
func named(file string, err error) error {
	var lines []error
	for line := range strings.SplitSeq(err.Error(), "\n") {
		lines = append(lines, fmt.Errorf("%s: %s", file, strings.TrimPrefix(line, "manifest: ")))
	}
	return errors.Join(lines...)
}

// batch are pods with which the agent ends.
type batch struct {
	over chan struct{} // closed when all have ended
	logs *logPrinter   // nil: what containers write is not printed

	mu   sync.Mutex
	left int
	pods []*v1.Pod // with their newest statuses, in the order of the files
}

func newBatch(pods []*v1.Pod) *batch {
	return &batch{over: make(chan struct{}), left: len(pods), pods: slices.Clone(pods)}
}

// printed waits until what containers have written is printed, if it is to be.
func (b *batch) printed() {
	if b != nil {
		b.logs.wait()
	}
}

// follow takes in what becomes of the pods until all have ended, or ctx has.
func (b *batch) follow(ctx context.Context, n *node.Node) {
	if b == nil {
		return
	}
	if b.left == 0 {
		close(b.over)
		return
	}
	for state := range n.Watch(ctx) {
		b.logs.see(ctx, state.Pod)
		if b.see(state) {
			close(b.over)
			return
		}
	}
}

// see takes in a state of a pod. It reports whether that was the last one to end.
func (b *batch) see(state node.PodState) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, pod := range b.pods {
		if pod.UID != state.Pod.UID || hasEnded(pod) {
			continue
		}
		b.pods[i] = state.Pod
		if hasEnded(state.Pod) || state.Gone {
			b.left--
		}
	}
	return b.left == 0
}

// states are the pods with their newest statuses.
func (b *batch) states() []*v1.Pod {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.pods)
}

// hasEnded: the phase is final, and no container runs any more.
func hasEnded(pod *v1.Pod) bool {
	runs := func(c v1.ContainerStatus) bool { return c.State.Running != nil }
	return podstatus.IsTerminal(pod.Status.Phase) &&
		!slices.ContainsFunc(pod.Status.InitContainerStatuses, runs) && !slices.ContainsFunc(pod.Status.ContainerStatuses, runs)
}

// exitCode is the code of the container that failed first, in time and then in the order of
// the files. It is 1 for a pod that failed without one, and 0 if no pod has failed. Sidecars
// and pods that have not ended do not count.
func exitCode(pods []*v1.Pod) int {
	var first *v1.ContainerStateTerminated
	failed := false
	for _, pod := range pods {
		if pod.Status.Phase != v1.PodFailed {
			continue
		}
		failed = true
		for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			init := podspec.InitContainer(pod, c.Name)
			end := c.State.Terminated
			if end == nil || end.ExitCode == 0 || init != nil && podspec.IsSidecar(init) {
				continue
			}
			if first == nil || end.FinishedAt.Time.Before(first.FinishedAt.Time) {
				first = end
			}
		}
	}
	switch {
	case first != nil:
		return int(first.ExitCode)
	case failed:
		return exitFailed
	}
	return exitOK
}
