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

// runStateDir is the default state directory of the command run on a CRI runtime. It differs from the agent's, so
// that both can run at once.
const runStateDir = "/var/lib/podkeel-run"

// runHelp returns the help of "agent run".
func runHelp() string {
	var o options
	return "Usage: agent run FILE ... [flags]\n\n" +
		"Runs the pods of files, or of standard input for -, until all terminate. The exit code is that\n" +
		"of the container that failed first, or 0. The first SIGINT or SIGTERM stops the pods within\n" +
		"their grace periods, with exit code 130; a second one kills them.\n\nFlags:\n\n" + o.runCommandFlags().helpText()
}

// runCommandFlags returns the flags of "agent run": --logs, and the agent's flags except those that only a
// directory of manifests needs. Some descriptions differ, because the defaults differ.
func (o *options) runCommandFlags() flagSet {
	others := []string{"manifests", "manifest-period", "manifest-url", "manifest-url-header", "manifest-url-period", "strict", "config", "on-exit", "orphan-grace"}
	flags := slices.DeleteFunc(o.allFlags(), func(f cliFlag) bool { return slices.Contains(others, f.name) })
	for name, meaning := range map[string]string{
		"listen":    "serve /pods, /timeline, /metrics ... to all users (none)",
		"socket":    "socket for this user's commands (none)",
		"log-level": "debug, info, warn or error (warn)",
		"state-dir": "directory for volumes and the state of pods (none; with cri " + runStateDir + ")",
	} {
		flags.flagWithNameOrAlias(name).description = meaning
	}
	return append(flags, cliFlag{name: "logs", description: "print the logs of containers, each line after [pod/POD/CONTAINER] (false)", set: boolFlag(&o.printLogs)})
}

// runPodFiles runs the pods of files until all terminate. It returns exitUsage if the agent cannot be created,
// exitFailed if it fails later, and exitInterrupted after a signal. In all other cases it returns the result of
// batchExitCode.
func (p *program) runPodFiles(o *options, line *commandLine) int {
	err := o.applyRunCommandLineAndReadPods(line)
	var a *agent
	if err == nil {
		a, err = newAgent(*o, p.stdout, p.stderr)
	}
	if err != nil {
		printErrors(p.stderr, err)
		return exitUsage
	}
	err = a.runUntilStopped(p.signals)
	if err != nil {
		printErrorsWithTimeLimit(p.stderr, err)
	}
	if o.runtime == "memory" { // Otherwise exit code 0 could be taken for the success of a program.
		printErrorsWithTimeLimit(p.stderr, errSimulatedContainers)
	}
	switch {
	case err != nil:
		return exitFailed
	case a.interrupted:
		return exitInterrupted
	}
	return batchExitCode(a.batch.podsWithStatus())
}

// errSimulatedContainers is printed at the end of the command run on the in-memory runtime.
var errSimulatedContainers = errors.New("the containers were simulated: no program of an image has run (--runtime cri runs them)")

// runCommandDefaults returns the default options of "agent run": no listeners, log level warn, and pods are
// stopped at exit.
func runCommandDefaults() options {
	o := defaults()
	o.listen, o.socket, o.logLevel, o.stopOnExit, o.orphanGrace = "", "", slog.LevelWarn, true, -1
	return o
}

// applyRunCommandLineAndReadPods sets the options from the command line of "agent run", and reads the pods from
// the files that it names. It returns an error if a flag or a file is faulty, or if flags conflict.
func (o *options) applyRunCommandLineAndReadPods(line *commandLine) error {
	if err := o.applyCommandLine(line); err != nil {
		return err
	}
	files := slices.Concat(line.args, line.argsAfterDash)
	if len(files) == 0 {
		return errors.New("run needs the name of a file, or - for standard input (agent run --help)")
	}
	var err error
	if o.pods, err = readPodFiles(files); err != nil {
		return err
	}
	if o.runtime == "cri" && o.stateDir == "" {
		o.stateDir = runStateDir
	}
	return errors.Join(o.resetOrReportConflictingFlags()...)
}

// readPodFiles reads the pods of files. It returns an error if two pods have one name. Each pod gets a new
// random UID, even if the file has one, because a pod of an earlier run is another pod.
func readPodFiles(files []string) ([]*v1.Pod, error) {
	var faults []error
	all := []*v1.Pod{}
	owner := map[types.NamespacedName]string{}
	for _, file := range files {
		pods, err := readPods(file)
		if err != nil {
			faults = append(faults, prefixLines(file, err))
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

// readPods reads the pods in one file, or from standard input if file is "-".
func readPods(file string) ([]*v1.Pod, error) {
	var text []byte
	var err error
	if file == "-" {
		text, err = io.ReadAll(io.LimitReader(os.Stdin, manifest.MaxFileSize+1))
	} else {
		text, err = readFileAtMost(file, manifest.MaxFileSize)
	}
	if cause := (*os.PathError)(nil); errors.As(err, &cause) {
		return nil, cause.Err // The caller names the path.
	}
	if err != nil {
		return nil, err
	}
	return manifest.Decode(text)
}

// prefixLines returns an error in which each line of err begins with the name of the file.
func prefixLines(file string, err error) error {
	var lines []error
	for line := range strings.SplitSeq(err.Error(), "\n") {
		lines = append(lines, fmt.Errorf("%s: %s", file, strings.TrimPrefix(line, "manifest: ")))
	}
	return errors.Join(lines...)
}

// podBatch holds the pods of the command run. The agent exits when all of them have terminated.
type podBatch struct {
	allTerminated chan struct{} // closed when all pods have terminated
	logs          *logPrinter   // nil: the logs of containers are not printed

	mu        sync.Mutex
	remaining int
	pods      []*v1.Pod // with their newest statuses, in the order of the files
}

// newPodBatch returns a podBatch, which waits until the given pods have terminated.
func newPodBatch(pods []*v1.Pod) *podBatch {
	return &podBatch{allTerminated: make(chan struct{}), remaining: len(pods), pods: slices.Clone(pods)}
}

// waitForLogsIfPrinted waits until the logs of the containers are printed. It does nothing if b is nil or
// --logs is not set.
func (b *podBatch) waitForLogsIfPrinted() {
	if b != nil {
		b.logs.stopAndWaitUntilPrinted()
	}
}

// watchUntilTerminated stores the newest states of the pods, and starts the printing of their logs with --logs,
// until all have terminated or ctx is done. It closes allTerminated when all have terminated. It does nothing
// if b is nil.
func (b *podBatch) watchUntilTerminated(ctx context.Context, n *node.Node) {
	if b == nil {
		return
	}
	if b.remaining == 0 {
		close(b.allTerminated)
		return
	}
	for state := range n.Watch(ctx) {
		b.logs.startLogReaders(ctx, state.Pod)
		if b.storePodUnlessTerminated(state) {
			close(b.allTerminated)
			return
		}
	}
}

// storePodUnlessTerminated stores the new state of a pod, unless the stored state is terminated. It returns
// true if all pods have terminated or are gone.
func (b *podBatch) storePodUnlessTerminated(state node.PodState) (allTerminated bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, pod := range b.pods {
		if pod.UID != state.Pod.UID || isTerminalAndNoContainerRuns(pod) {
			continue
		}
		b.pods[i] = state.Pod
		if isTerminalAndNoContainerRuns(state.Pod) || state.Gone {
			b.remaining--
		}
	}
	return b.remaining == 0
}

// podsWithStatus returns the pods with their newest statuses.
func (b *podBatch) podsWithStatus() []*v1.Pod {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.pods)
}

// isTerminalAndNoContainerRuns reports whether the phase is Succeeded or Failed and no init or regular
// container is running.
func isTerminalAndNoContainerRuns(pod *v1.Pod) bool {
	runs := func(c v1.ContainerStatus) bool { return c.State.Running != nil }
	return podstatus.IsTerminal(pod.Status.Phase) &&
		!slices.ContainsFunc(pod.Status.InitContainerStatuses, runs) && !slices.ContainsFunc(pod.Status.ContainerStatuses, runs)
}

// batchExitCode returns the exit code of the container that failed first. It looks only at pods whose phase is
// Failed, and at no sidecars. It returns 1 if a pod failed without such a container, and 0 if no pod failed.
func batchExitCode(pods []*v1.Pod) int {
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
