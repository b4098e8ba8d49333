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
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/timeline/recorder"
)

// examples are the manifests that run if no flag names others, and the ConfigMaps
// and Secrets that they refer to.
//
//go:embed manifests objects
var examples embed.FS

const (
	// stopMargin is what pods get beyond the longest grace among them.
	stopMargin = 10 * time.Second
	// killGrace is what pods get after a second signal, and killMargin what the
	// runtime gets beyond it.
	killGrace  = time.Second
	killMargin = 5 * time.Second
	// silence is how long the end may take without a word about what it waits for.
	silence = time.Second
	// lastLines is how long a reader of the table, or of the log, may hold up the end.
	lastLines = time.Second
)

// agent is a node with a face: lines for people, a debug handler for tools.
type agent struct {
	options
	log     *slog.Logger
	logs    *command.Buffered // of standard error, if the table does not show the log
	node    *node.Node
	face    face
	port    *endpoint          // nil without --listen
	local   *endpoint          // the socket; nil without one
	records *recorder.Recorder // of what the debug handler draws; nil without a handler
	claimed io.Closer          // the state directory; nil without one
	batch   *batch             // the pods of the command run; nil without it
	files   *swap              // the manifests of the machine, and of a server; nil without --config
	web     *swap
	// interrupted: a signal was the reason to end.
	interrupted bool
	kubernetes  kubernetes
}

// face is what people see of the pods: a table on a terminal, or lines.
type face interface {
	// show is called for each change of a pod, by one caller at a time. The error
	// means that the output is closed.
	show(state node.PodState) error
	// run is called once, concurrently with the rest, and ends with ctx; what
	// was shown before is seen then.
	run(ctx context.Context)
}

// newAgent prepares everything that can fail because of what was typed.
func newAgent(o options, stdout, stderr io.Writer) (_ *agent, err error) {
	a := &agent{options: o, face: newTable(stdout)}
	defer func() {
		if err != nil {
			a.release()
			a.flushLogs()
		}
	}()
	var shared bool
	if t, ok := stdout.(terminal); ok {
		table := newLive(t)
		a.face = table
		if _, shared = stderr.(terminal); shared {
			stderr = table // It would tear the table otherwise.
		}
	}
	if !shared {
		a.logs = command.NewBuffered(stderr, o.reportDropped)
		stderr = a.logs
	}
	a.log = o.logger(stderr)
	if a.metrics, err = command.NewMetrics(); err != nil {
		return nil, err
	}
	config, claimed, err := a.nodeConfig(a.log)
	a.claimed = claimed
	if err != nil {
		return nil, err
	}
	if config.Pods.Sources, err = a.sources(); err != nil {
		return nil, err
	}
	if config.Recorder, err = a.recordFor(o.recorder(stderr, a.log)); err != nil {
		return nil, err
	}
	if a.listen != "" || a.socket != "" {
		a.records, _ = recorder.New(recorder.Config{}) // It is valid.
		config.Hooks.Timeline = a.records.Record
	}
	a.metrics.Instrument(&config)
	if a.node, err = node.New(config); err != nil {
		return nil, err
	}
	a.metrics.Observe(a.node)
	if err := a.apply(stdout); err != nil {
		return nil, err
	}
	if err := a.bind(); err != nil {
		return nil, err
	}
	return a, a.bindAPI(&config)
}

// apply gives the node the pods of the command run.
func (a *agent) apply(stdout io.Writer) error {
	if a.pods == nil {
		return nil
	}
	a.batch = newBatch(a.pods)
	if a.printLogs {
		table, live := a.face.(*live) // The lines would tear it.
		if live {
			stdout = patient{table}
		}
		a.batch.logs = &logPrinter{from: a.node.Containers(), to: stdout, plain: !live, log: a.log, seen: map[string]bool{}}
	}
	var faults []error
	for _, pod := range a.pods {
		faults = append(faults, a.node.Apply(pod))
	}
	return errors.Join(faults...)
}

// flushLogs waits a while for the reader of the log.
func (a *agent) flushLogs() {
	if a.logs != nil {
		a.logs.Flush(lastLines)
	}
}

// release leaves the addresses and the state directory to others.
func (a *agent) release() {
	for _, e := range []*endpoint{a.local, a.port} {
		if e != nil {
			_ = e.listener.Close() // Its server may have closed it.
		}
	}
	if a.claimed != nil {
		_ = a.claimed.Close() // Nothing was written to it.
	}
}

// run runs the node until a signal comes, its time is over, or it fails.
func (a *agent) run(signals <-chan os.Signal) error {
	defer a.flushLogs()
	defer a.release()
	ctx, end := context.WithCancel(context.Background())
	defer end()
	defer a.serve()()
	defer a.serveAPI()()
	a.log.Info("the agent runs", "node", a.nodeName, "containers", a.containers(), "manifests", a.described(), "listen", a.address(), "socket", a.local.String())
	a.warn(a.warnings)
	defer a.listenForReloads(ctx)()
	ended, shown := make(chan error, 1), make(chan struct{})
	go func() { ended <- a.node.Run(ctx) }()
	go func() { defer close(shown); a.watch(ctx) }()
	stopping := a.notify(ctx)
	err, over := a.attend(ended, signals)
	stopping()
	var left error
	if !over {
		var late <-chan time.Time // A second signal does not wait for a runtime that hangs.
		if a.stopOnExit {
			var hurried bool
			if left, hurried = a.stop(ctx, signals); hurried {
				late = time.After(killMargin)
			}
		}
		a.batch.printed()
		end()
		if over, err := a.await(ended, signals, late); over {
			return errors.Join(left, a.finish(err, end, shown))
		}
		a.log.Warn("the agent does not wait for what it has begun")
		return errors.Join(left, errGivenUp)
	}
	return a.finish(err, end, shown)
}

// containers says whether what runs is real. In memory no program of an image runs.
func (o *options) containers() string {
	if o.runtime == "memory" {
		return "simulated"
	}
	return "real"
}

// await waits for the node, which is over when all calls to the runtime that are under
// way have been answered, until a further signal or the time limit ends the wait.
func (a *agent) await(ended <-chan error, signals <-chan os.Signal, late <-chan time.Time) (over bool, err error) {
	unexpected := time.NewTimer(silence)
	defer unexpected.Stop()
	for {
		select {
		case err := <-ended:
			return true, err
		case <-signals:
			return false, nil
		case <-late:
			return false, nil
		case <-unexpected.C:
			a.log.Info("waiting for calls to the runtime that are under way; a further signal gives up")
		}
	}
}

// errGivenUp is an end that did not wait for the runtime.
var errGivenUp = errors.New("given up: what was begun in the runtime may go on")

// finish lets people see how things ended.
func (a *agent) finish(err error, end func(), shown <-chan struct{}) error {
	end() // If the node failed by itself, the others do not know yet.
	select {
	case <-shown:
	case <-time.After(lastLines):
	}
	return err
}

// attend waits for a reason to end. It is over if the node is.
func (a *agent) attend(ended <-chan error, signals <-chan os.Signal) (err error, done bool) {
	var late <-chan time.Time
	if a.lasting > 0 {
		late = time.After(a.lasting)
	}
	var over <-chan struct{}
	if a.batch != nil {
		over = a.batch.over
	}
	why := "--for is over"
	select {
	case err = <-ended:
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

// stop ends all pods, each within its grace, or at a second signal within seconds. Its
// error says what was left behind.
func (a *agent) stop(ctx context.Context, signals <-chan os.Signal) (left error, hurried bool) {
	ctx, cancel := context.WithTimeout(ctx, a.drainTimeout())
	defer cancel()
	drained := make(chan error, 1)
	go func() { drained <- a.node.Drain(ctx, node.DrainOptions{}) }()
	a.log.Info("waiting for the pods to end; a second signal kills them", "pods", a.unfinished(), "within", a.drainTimeout())
	var err error
	select {
	case err = <-drained:
	case <-signals:
		a.log.Warn("the pods are killed, as a second signal came", "within", killGrace+killMargin)
		hurried = true
		err = a.kill(ctx, signals)
		cancel()
		<-drained
	}
	if err != nil {
		left = fmt.Errorf("pods were left behind: %w", err)
	}
	return left, hurried
}

// kill ends all pods within seconds, or gives up at a signal.
func (a *agent) kill(ctx context.Context, signals <-chan os.Signal) error {
	ctx, cancel := context.WithTimeout(ctx, killGrace+killMargin)
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

// unfinished names the pods that have not ended, not all if they are many.
func (a *agent) unfinished() (names []string) {
	const most = 10
	for _, pod := range a.node.Pods() {
		if pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed {
			names = append(names, pod.Namespace+"/"+pod.Name)
		}
	}
	slices.Sort(names)
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", more))
	}
	return names
}

// drainTimeout is how long the slowest pod may take to end.
func (a *agent) drainTimeout() time.Duration {
	var longest int64
	for _, pod := range a.node.Pods() {
		if grace := pod.Spec.TerminationGracePeriodSeconds; grace != nil {
			longest = max(longest, min(*grace, 1<<32)) // Beyond it a Duration overflows.
		}
	}
	return time.Duration(longest)*time.Second + stopMargin
}

// watch shows the pods and waits for those of the command run, until all has ended.
func (a *agent) watch(ctx context.Context) {
	var both sync.WaitGroup
	defer both.Wait()
	both.Go(func() { a.batch.follow(ctx, a.node) })
	a.present(ctx)
}

// present is what people see until all has ended.
func (a *agent) present(ctx context.Context) {
	seen, enough := context.WithCancel(context.WithoutCancel(ctx))
	drawn := make(chan struct{})
	go func() { defer close(drawn); a.face.run(seen) }()
	a.follow(ctx)
	enough()
	<-drawn
}

// follow prints every change until ctx ends, and then how things ended.
func (a *agent) follow(ctx context.Context) {
	if !a.showAll(ctx) {
		return
	}
	<-a.node.Done()
	a.showAll(ctx) // It has ended: every pod comes once.
}

// showAll is false if the output is closed. The node continues, for the sake of its
// pods.
func (a *agent) showAll(ctx context.Context) bool {
	for state := range a.node.Watch(ctx) {
		if err := a.face.show(state); err != nil {
			a.log.Warn("no more lines are printed", "err", err)
			return false
		}
	}
	return true
}

func (a *agent) described() string {
	switch {
	case a.pods != nil:
		return "of the command line"
	case a.embedded():
		return "embedded examples"
	case a.manifests == "" && a.manifestURL == "":
		return "none"
	case a.manifests == "":
		return "of a server"
	}
	return a.manifests
}
