package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/examples/internal/command"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/timeline/recorder"
)

// examples are the default manifests, and the ConfigMaps and Secrets that they refer to.
//
//go:embed manifests objects
var examples embed.FS

const (
	// stopMargin is added to the longest grace period of the pods.
	stopMargin = 10 * time.Second
	// killGrace is the grace period of pods after a second signal. killRuntimeMargin is how much longer the runtime may
	// take.
	killGrace         = time.Second
	killRuntimeMargin = 5 * time.Second
	// waitLogDelay is how long the agent waits at exit before it logs what it waits for.
	waitLogDelay = time.Second
	// outputFlushTimeout is how long the agent waits at exit for the reader of the table, or of the log.
	outputFlushTimeout = time.Second
)

// agent is a node with a view for people and a debug handler for tools.
type agent struct {
	options
	log          *slog.Logger
	logs         *command.Buffered // of standard error, if the table does not show the log
	node         *node.Node
	view         podView
	port         *endpoint          // nil without --listen
	local        *endpoint          // the socket; nil without one
	records      *recorder.Recorder // events for the debug handler; nil without one
	stateDirLock io.Closer          // nil without a state directory
	batch        *podBatch          // the pods of the command run; nil without it
	files        *replaceableSource // the manifests of the machine; nil without --config
	web          *replaceableSource
	// interrupted means that a signal stopped the agent.
	interrupted bool
	kubernetes  kubernetes
}

// podView shows the pods to people: as a table on a terminal, or as lines.
type podView interface {
	// storePodUnlessTerminated is called for each change of a pod, one call at a time. An error means that the output is closed.
	updatePod(state node.PodState) error
	// drawUntilDone is called once, concurrently with storePodUnlessTerminated. It returns when ctx is done and all updates are shown.
	drawUntilDone(ctx context.Context)
}

// newAgent returns an agent with a node that does not run yet. It locks the state directory if one is set, adds
// the pods of the command "agent run" to the node, and opens all listeners. After an error it closes the
// listeners and unlocks the directory.
func newAgent(o options, stdout, stderr io.Writer) (_ *agent, err error) {
	a := &agent{options: o, view: newRowPrinter(stdout)}
	defer func() {
		if err != nil {
			a.closeListenersAndUnlock()
			a.flushLogs()
		}
	}()
	var shared bool
	if t, ok := stdout.(terminal); ok {
		table := newLiveTable(t)
		a.view = table
		if _, shared = stderr.(terminal); shared {
			stderr = table // Output on standard error would disturb the table.
		}
	}
	if !shared {
		a.logs = command.NewBuffered(stderr, o.logDroppedLines)
		stderr = a.logs
	}
	a.log = o.newLogger(stderr)
	if a.metrics, err = command.NewMetrics(); err != nil {
		return nil, err
	}
	config, claimed, err := a.lockStateDirAndConfigureNode(a.log)
	a.stateDirLock = claimed
	if err != nil {
		return nil, err
	}
	if config.Pods.Sources, err = a.newPodSources(); err != nil {
		return nil, err
	}
	if config.Recorder, err = a.addLocalAPIRecorder(o.newEventPrinter(stderr, a.log)); err != nil {
		return nil, err
	}
	if a.listen != "" || a.socket != "" {
		a.records, _ = recorder.New(recorder.Config{}) // The empty Config is valid.
		config.Hooks.Timeline = a.records.Record
	}
	a.metrics.Instrument(&config)
	if a.node, err = node.New(config); err != nil {
		return nil, err
	}
	a.metrics.Observe(a.node)
	if err := a.applyAllRunPodsAndPrepareLogs(stdout); err != nil {
		return nil, err
	}
	if err := a.listenOnSocketAndPort(); err != nil {
		return nil, err
	}
	return a, a.prepareLocalAPIIfSet(&config)
}

// applyAllRunPodsAndPrepareLogs adds the pods of "agent run" to the node. With --logs it also prepares the printing
// of their logs. It does nothing for an agent that runs a directory of manifests.
func (a *agent) applyAllRunPodsAndPrepareLogs(stdout io.Writer) error {
	if a.pods == nil {
		return nil
	}
	a.batch = newPodBatch(a.pods)
	if a.printLogs {
		table, live := a.view.(*liveTable) // Direct output would disturb the table.
		if live {
			stdout = blockingLines{table}
		}
		a.batch.logs = &logPrinter{reader: a.node.Containers(), out: stdout, unescaped: !live, log: a.log, started: map[string]bool{}}
	}
	var faults []error
	for _, pod := range a.pods {
		faults = append(faults, a.node.Apply(pod))
	}
	return errors.Join(faults...)
}

// flushLogs waits until the buffered lines of the agent's log are written, for at most outputFlushTimeout.
func (a *agent) flushLogs() {
	if a.logs != nil {
		a.logs.Flush(outputFlushTimeout)
	}
}

// closeListenersAndUnlock closes the listeners of the socket and the port, and unlocks the state directory. It
// ignores errors.
func (a *agent) closeListenersAndUnlock() {
	for _, e := range []*endpoint{a.local, a.port} {
		if e != nil {
			_ = e.listener.Close() // The server may have closed it already.
		}
	}
	if a.stateDirLock != nil {
		_ = a.stateDirLock.Close() // The file was not written.
	}
}

// runUntilStopped runs the node and its servers until a signal arrives, the time of --for is over, all pods of
// "agent run" have terminated, or the node fails. With --on-exit stop it then stops the pods. At the end it
// closes the listeners and unlocks the state directory.
func (a *agent) runUntilStopped(signals <-chan os.Signal) error {
	defer a.flushLogs()
	defer a.closeListenersAndUnlock()
	ctx, end := context.WithCancel(context.Background())
	defer end()
	defer a.startServers()()
	defer a.startLocalAPI()()
	a.log.Info("the agent runs", "node", a.nodeName, "containers", a.simulatedOrReal(), "manifests", a.manifestsText(), "listen", a.portAddress(), "socket", a.local.String())
	a.logConfigWarnings(a.warnings)
	defer a.reloadOnSIGHUP(ctx)()
	ended, shown := make(chan error, 1), make(chan struct{})
	go func() { ended <- a.node.Run(ctx) }()
	go func() { defer close(shown); a.showPodsAndWatchBatch(ctx) }()
	stopping := a.startNotifying(ctx)
	err, over := a.waitForStopReason(ended, signals)
	stopping()
	var left error
	if !over {
		var late <-chan time.Time // After a second signal the agent does not wait for a runtime that hangs.
		if a.stopOnExit {
			var hurried bool
			if left, hurried = a.drainPodsOrKillOnSignal(ctx, signals); hurried {
				late = time.After(killRuntimeMargin)
			}
		}
		a.batch.waitForLogsIfPrinted()
		end()
		if over, err := a.waitForNodeOrGiveUp(ended, signals, late); over {
			return errors.Join(left, a.cancelAndWaitForView(err, end, shown))
		}
		a.log.Warn("the agent does not wait for pending calls to the runtime")
		return errors.Join(left, errRuntimeNotAwaited)
	}
	return a.cancelAndWaitForView(err, end, shown)
}

// simulatedOrReal returns which kind of containers the runtime has. It returns "simulated" for the in-memory
// runtime, which runs no program of an image, and "real" for any other runtime.
func (o *options) simulatedOrReal() string {
	if o.runtime == "memory" {
		return "simulated"
	}
	return "real"
}

// waitForNodeOrGiveUp waits until the node has stopped, and returns true and the node's error. It returns false
// if another signal or the deadline comes first. The node stops when all pending calls to the runtime have
// returned.
func (a *agent) waitForNodeOrGiveUp(nodeErr <-chan error, signals <-chan os.Signal, deadline <-chan time.Time) (stopped bool, err error) {
	unexpected := time.NewTimer(waitLogDelay)
	defer unexpected.Stop()
	for {
		select {
		case err := <-nodeErr:
			return true, err
		case <-signals:
			return false, nil
		case <-deadline:
			return false, nil
		case <-unexpected.C:
			a.log.Info("waiting for pending calls to the runtime; another signal gives up")
		}
	}
}

// errRuntimeNotAwaited means that the agent exits without waiting for the runtime.
var errRuntimeNotAwaited = errors.New("gave up: pending calls to the runtime may still take effect")

// cancelAndWaitForView calls cancel, and waits until the last changes of the pods are printed, for at most
// outputFlushTimeout. It returns err unchanged.
func (a *agent) cancelAndWaitForView(err error, cancel func(), shown <-chan struct{}) error {
	cancel() // If the node failed by itself, the context is not canceled yet.
	select {
	case <-shown:
	case <-time.After(outputFlushTimeout):
	}
	return err
}

// waitForStopReason waits until a signal arrives, the time of --for is over, all pods of "agent run" have
// terminated, or the node stops. It returns the node's error and true only if the node stops. In the other
// cases it logs the reason. It sets a.interrupted after a signal.
func (a *agent) waitForStopReason(nodeErr <-chan error, signals <-chan os.Signal) (err error, nodeStopped bool) {
	var late <-chan time.Time
	if a.runFor > 0 {
		late = time.After(a.runFor)
	}
	var over <-chan struct{}
	if a.batch != nil {
		over = a.batch.allTerminated
	}
	why := "--for is over"
	select {
	case err = <-nodeErr:
		return err, true
	case s := <-signals:
		why, a.interrupted = s.String(), true
	case <-late:
	case <-over:
		why = "all pods have ended"
	}
	a.log.Info("the agent ends", "why", why, "on-exit", map[bool]string{true: "stop", false: "leave"}[a.stopOnExit])
	return nil, false
}

// drainPodsOrKillOnSignal stops all pods within their grace periods. After a second signal it stops them within
// seconds, and returns killed true. leftBehind is the error of the drain if pods still run.
func (a *agent) drainPodsOrKillOnSignal(ctx context.Context, signals <-chan os.Signal) (leftBehind error, killed bool) {
	ctx, cancel := context.WithTimeout(ctx, a.drainTimeout())
	defer cancel()
	drained := make(chan error, 1)
	go func() { drained <- a.node.Drain(ctx, node.DrainOptions{}) }()
	a.log.Info("waiting for the pods to terminate; a second signal kills them", "pods", a.firstTenUnfinishedPods(), "within", a.drainTimeout())
	var err error
	select {
	case err = <-drained:
	case <-signals:
		a.log.Warn("the pods are killed, because of a second signal", "within", killGrace+killRuntimeMargin)
		killed = true
		err = a.killPods(ctx, signals)
		cancel()
		<-drained
	}
	if err != nil {
		leftBehind = fmt.Errorf("pods were left behind: %w", err)
	}
	return leftBehind, killed
}

// killPods stops all pods with the grace period killGrace and a margin for the runtime. At the next signal it
// cancels this. It returns the error of the drain.
func (a *agent) killPods(ctx context.Context, signals <-chan os.Signal) error {
	ctx, cancel := context.WithTimeout(ctx, killGrace+killRuntimeMargin)
	defer cancel()
	killed := make(chan error, 1)
	go func() {
		killed <- a.node.Drain(ctx, node.DrainOptions{GraceSeconds: new(int64(killGrace / time.Second))})
	}()
	select {
	case err := <-killed:
		return err
	case <-signals:
		cancel()
		return <-killed
	}
}

// firstTenUnfinishedPods returns the sorted names of the pods whose phase is neither Succeeded nor Failed. It returns
// at most ten names and then a text with the number of the others.
func (a *agent) firstTenUnfinishedPods() (namesAndRest []string) {
	const most = 10
	for _, pod := range a.node.Pods() {
		if pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed {
			namesAndRest = append(namesAndRest, pod.Namespace+"/"+pod.Name)
		}
	}
	slices.Sort(namesAndRest)
	if more := len(namesAndRest) - most; more > 0 {
		namesAndRest = append(namesAndRest[:most], fmt.Sprintf("and %d more", more))
	}
	return namesAndRest
}

// drainTimeout returns stopMargin plus the longest termination grace period of all pods.
func (a *agent) drainTimeout() time.Duration {
	var longest time.Duration
	for _, pod := range a.node.Pods() {
		longest = max(longest, lifecycle.GraceFromAPI(pod.Spec.TerminationGracePeriodSeconds).Duration())
	}
	return longest + stopMargin
}

// showPodsAndWatchBatch prints the changes of the pods until the node has stopped. At the same time it watches
// the pods of "agent run" until they have terminated.
func (a *agent) showPodsAndWatchBatch(ctx context.Context) {
	var both sync.WaitGroup
	defer both.Wait()
	both.Go(func() { a.batch.watchUntilTerminated(ctx, a.node) })
	a.showUntilDone(ctx)
}

// showUntilDone passes the changes of the pods to the view (a table or single lines) until the node has
// stopped. It then waits until the view has drawn the last change.
func (a *agent) showUntilDone(ctx context.Context) {
	seen, enough := context.WithCancel(context.WithoutCancel(ctx))
	drawn := make(chan struct{})
	go func() { defer close(drawn); a.view.drawUntilDone(seen) }()
	a.showChanges(ctx)
	enough()
	<-drawn
}

// showChanges passes the changes of the pods to the view until ctx is done. Then it waits until the node has
// stopped, and shows the final state of the pods. It returns early if the output is closed.
func (a *agent) showChanges(ctx context.Context) {
	if !a.watchAndShow(ctx) {
		return
	}
	<-a.node.Done()
	a.watchAndShow(ctx) // The node has stopped, so the watch returns each pod once.
}

// watchAndShow passes the changes of the pods to the view until ctx is done or the node has stopped, and
// returns true. If the output is closed it logs that and returns false; the node continues.
func (a *agent) watchAndShow(ctx context.Context) (outputOpen bool) {
	for state := range a.node.Watch(ctx) {
		if err := a.view.updatePod(state); err != nil {
			a.log.Warn("cannot write to the output; no more changes are printed", "err", err)
			return false
		}
	}
	return true
}

// manifestsText describes in a few words the origin of the pods, for the log: a path, a server, the command
// line, embedded examples or none.
func (a *agent) manifestsText() string {
	switch {
	case a.pods != nil:
		return "of the command line"
	case a.usesEmbeddedExamples():
		return "embedded examples"
	case a.manifests == "" && a.manifestURL == "":
		return "none"
	case a.manifests == "":
		return "of a server"
	}
	return a.manifests
}
