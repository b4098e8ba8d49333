package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/podkeel/podkeel/examples/internal/command"
	"github.com/podkeel/podkeel/podmanager/checkpoint"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/localapi"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodestatus"
	"github.com/podkeel/podkeel/syncloop/server"
)

// apiOptions are the flags of the Kubernetes API. The API is enabled if kubeconfig is set.
type apiOptions struct {
	kubeconfig string // the file to write; empty: there is no API
	listen     string
	write      bool
}

// defaultAPIListen is a port on loopback: see listenOnTokenPortOrAddress.
const defaultAPIListen = "127.0.0.1:0"

// localAPIFlags returns the flags of the local API: the part of the Kubernetes API that the agent itself
// serves, for kubectl.
func (o *options) localAPIFlags() flagSet {
	return flagSet{
		{name: "write-kubeconfig", value: "FILE", description: "serve the Kubernetes API for kubectl, and write its kubeconfig there (none)", set: func(s string) error {
			o.api.kubeconfig = s
			return nil
		}},
		{name: "api-listen", value: "ADDR", description: "address of that API (a port on 127.0.0.1, the same after a restart if it is free)", set: func(s string) error {
			o.api.listen = s
			return nil
		}},
		{name: "api-write", description: "let that API create, change and delete pods, kept in the state directory (false)", set: boolFlag(&o.api.write)},
	}
}

// kubernetes is the Kubernetes API of an agent.
type kubernetes struct {
	events  *localapi.Events
	api     *localapi.API
	service *localapi.Service // nil: the API serves no clients and only stores the created pods
}

// credentialsFile is the file in the state directory with the CA and the token.
const credentialsFile = "api-credentials.json"

// addLocalAPIRecorder returns a recorder that passes each event to printed and to the agent's local API, which
// serves it to kubectl. If the local API is disabled, it returns printed.
func (a *agent) addLocalAPIRecorder(printed runtime.EventRecorder) (runtime.EventRecorder, error) {
	if a.options.api.kubeconfig == "" {
		return printed, nil
	}
	events, err := localapi.NewEvents(a.nodeName, nil)
	a.kubernetes.events = events
	return recorderPair{printed, events}, err
}

// recorderPair records every event with two recorders.
type recorderPair [2]runtime.EventRecorder

// Event implements runtime.EventRecorder.
func (r recorderPair) Event(object k8sruntime.Object, eventtype, reason, message string) {
	for _, one := range r {
		one.Event(object, eventtype, reason, message)
	}
}

// Eventf implements runtime.EventRecorder.
func (r recorderPair) Eventf(object k8sruntime.Object, eventtype, reason, format string, args ...any) {
	r.Event(object, eventtype, reason, fmt.Sprintf(format, args...))
}

// prepareLocalAPIIfSet creates the local API, the part of the Kubernetes API that the agent serves to kubectl,
// opens its port and writes the kubeconfig. It does nothing without --write-kubeconfig. It first returns an
// error if pods that an earlier local API created would be terminated.
func (a *agent) prepareLocalAPIIfSet(config *node.Config) error {
	o := a.options.api
	if err := a.checkNoCreatedPods(); err != nil || o.kubeconfig == "" {
		return err
	}
	secrets, changed, err := a.loadOrCreateCredentials()
	if err != nil {
		return err
	}
	api, err := a.newLocalAPI(config, localapi.Token(secrets.Token))
	if err != nil {
		return err
	}
	a.kubernetes.api = api
	listener, err := listenOnTokenPortOrAddress(o.listen, secrets.Token, a.log)
	if err != nil {
		return fmt.Errorf("--api-listen %q: %w", o.listen, err)
	}
	a.kubernetes.service, err = localapi.NewService(localapi.ServiceConfig{
		API: api, Listener: listener, Credentials: secrets, Kubeconfig: o.kubeconfig, Log: a.log,
		Hosts: append([]string{a.nodeName, hostWithoutPort(o.listen)}, config.Containers.HostIPs...),
	})
	if err == nil {
		return nil
	}
	err = fmt.Errorf("--write-kubeconfig: %w", errors.Join(err, listener.Close()))
	if changed && !errors.Is(err, localapi.ErrForeignFile) {
		// With the old credentials the kubeconfig would not have been written again.
		a.log.Warn("the Kubernetes API is not served, as its new kubeconfig cannot be written; pods run all the same", "err", err)
		return nil
	}
	return err
}

// firstPort and ports define the range from which listenOnTokenPortOrAddress chooses: below the ephemeral ports
// of Linux, and above the ports of services.
const firstPort, ports = 20_000, 10_000

// listenOnTokenPortOrAddress listens on an address. For the default address it derives the port from the token,
// so that clients find the agent again after a restart with the same state directory. If that port cannot be
// used, it logs a warning and listens on a free port.
func listenOnTokenPortOrAddress(address, token string, log *slog.Logger) (net.Listener, error) {
	if address == defaultAPIListen {
		sum := sha256.Sum256([]byte(token))
		usual := firstPort + int(binary.BigEndian.Uint32(sum[:4])%ports)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(usual)))
		if err == nil {
			return l, nil
		}
		log.Warn("the usual port of the Kubernetes API cannot be used: clients that have read the kubeconfig before read it again", "port", usual, "err", err)
	}
	return net.Listen("tcp", address)
}

// newLocalAPI returns the local API, the part of the Kubernetes API that the agent serves to kubectl. With
// --api-write it may create, change and delete pods, and saves these pods in the state directory if one is set.
func (a *agent) newLocalAPI(config *node.Config, who server.Authenticator) (*localapi.API, error) {
	served := localapi.Config{
		Node: a.node, NodeName: a.nodeName, Labels: config.Scheduling.Labels, Taints: config.Scheduling.Taints, Facts: a.nodeFactsFunc(config), Events: a.kubernetes.events,
		Stats: a.node.Containers(), Finder: a.node.Containers(), Logs: a.node.Containers(), Exec: a.node.Containers(), Attach: a.node.Containers(), PortForward: a.node.Containers(), Authenticator: who, Log: a.log,
	}
	if a.options.api.write {
		var err error
		if served.Saved, err = a.createdPodStore(); err != nil {
			return nil, err
		}
		served.Writer = a.node
	}
	return localapi.New(served)
}

// loadOrCreateCredentials returns the credentials of the local API. They come from the state directory if one
// is set, so that a kubeconfig stays valid. If the file with the credentials is missing or cannot be used, it
// creates new credentials. changed is true if the file exists and cannot be used, because clients then need the
// new kubeconfig.
func (a *agent) loadOrCreateCredentials() (secrets *localapi.Credentials, changed bool, err error) {
	if a.stateDir == "" {
		secrets, err = localapi.NewCredentials()
		return secrets, false, err
	}
	path := filepath.Join(a.stateDir, credentialsFile)
	secrets, fault := localapi.KeepCredentials(path)
	if fault == nil {
		return secrets, false, nil
	}
	effect := "they are replaced: clients need the new kubeconfig"
	if err = fault; errors.Is(fault, localapi.ErrBadCredentials) {
		secrets, err = localapi.ReplaceCredentials(path)
	}
	if err != nil {
		effect = "new ones are used until the agent exits: clients need the new kubeconfig"
		secrets, err = localapi.NewCredentials()
	}
	a.log.Warn("the credentials of the Kubernetes API cannot be used", "file", path, "fault", fault, "effect", effect)
	return secrets, true, err
}

// createdPodsDir is the directory of created pods, in the state directory.
const createdPodsDir = "api-pods"

// checkNoCreatedPods returns an error if the state directory has pods that the local API created, and
// --api-write is not set. The node would terminate those pods and delete their volumes. It also returns an
// error if it cannot list them.
func (a *agent) checkNoCreatedPods() error {
	if a.stateDir == "" || a.options.api.write {
		return nil
	}
	dir := filepath.Join(a.stateDir, createdPodsDir)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil { // The directory may have created pods.
		return fmt.Errorf("cannot list the pods that were created by the Kubernetes API; they would be terminated and lose their volumes: %w", err)
	}
	pods := slices.DeleteFunc(entries, func(e os.DirEntry) bool { return !strings.HasSuffix(e.Name(), ".json") })
	if len(pods) > 0 {
		return fmt.Errorf("%d pods that were created by the Kubernetes API would be terminated and lose their volumes: start with --write-kubeconfig and --api-write, or remove %s", len(pods), dir)
	}
	return nil
}

// createdPodStore returns the store for pods that the local API creates: a directory in the state directory, or
// a store that saves nothing if no state directory is set.
func (a *agent) createdPodStore() (localapi.Saved, error) {
	if a.stateDir == "" {
		return localapi.Unsaved{}, nil
	}
	dir, err := filepath.Abs(a.stateDir)
	if err != nil {
		return nil, err
	}
	return checkpoint.NewPods(checkpoint.Config{Root: filepath.Join(dir, createdPodsDir), Log: a.log})
}

// defaultMaxPods is the default number of pods of a node.
const defaultMaxPods = 110

// nodeFactsFunc returns a function that collects the facts for the status of the Node object: capacity,
// addresses, versions, the state of the runtime and problems.
func (a *agent) nodeFactsFunc(config *node.Config) func(context.Context) nodestatus.Facts {
	ask := lastRuntimeStatusFunc(config.Runtime, time.Now)
	return func(ctx context.Context) nodestatus.Facts {
		f := nodestatus.Facts{Capacity: command.Capacity(), Info: command.SystemInfo()}
		full := *config
		full.Scheduling.MachineCapacity = f.Capacity.DeepCopy()
		f.Allocatable = full.Allocatable()
		f.Capacity[v1.ResourcePods] = *resource.NewQuantity(int64(cmp.Or(config.Scheduling.MaxPods, defaultMaxPods)), resource.DecimalSI)
		maps.Copy(f.Capacity, config.Scheduling.Capacity)
		for _, ip := range strings.Split(cmp.Or(strings.Join(config.Containers.HostIPs, ","), "127.0.0.1"), ",") {
			f.Addresses = append(f.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: ip})
		}
		f.Addresses = append(f.Addresses, v1.NodeAddress{Type: v1.NodeHostName, Address: a.nodeName})
		f.Info.ContainerRuntimeVersion = "memory://"
		if named := runtime.FeaturesOf(config.Runtime).Versioner; named != nil {
			if name, version, err := named.Version(ctx); err == nil {
				f.Info.ContainerRuntimeVersion = name + "://" + version
			}
		}
		f.RuntimeSeen, f.Runtime = ask(ctx)
		health := a.node.Health()
		f.Pressure = health.Pressure
		if err := health.Err; err != nil {
			f.Problems = append(f.Problems, err.Error())
		}
		return f
	}
}

// lastRuntimeStatusFunc returns a function that requests the runtime's status. It returns the last status that the
// runtime reported, and the time of that report. Until the first report the status is ready. For a runtime that
// does not report its status, the status is ready at the current time.
func lastRuntimeStatusFunc(rt runtime.Runtime, now func() time.Time) func(context.Context) (time.Time, runtime.RuntimeStatus) {
	seen, status := now(), runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: true}
	return func(ctx context.Context) (time.Time, runtime.RuntimeStatus) {
		reporter := runtime.FeaturesOf(rt).StatusReporter
		if reporter == nil {
			return now(), status
		}
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if answer, err := reporter.RuntimeStatus(ctx); err == nil {
			seen, status = now(), answer
		}
		return seen, status
	}
}

// startLocalAPI starts the local API if it was created. The returned function stops it and waits for it. If the
// kubeconfig could not be written, the API serves no clients and only completes deletions of pods.
func (a *agent) startLocalAPI() (stop func()) {
	serve := func(ctx context.Context) error { return a.kubernetes.api.Run(ctx) }
	switch {
	case a.kubernetes.api == nil:
		return func() {}
	case a.kubernetes.service != nil:
		serve = a.kubernetes.service.Run
		a.log.Info("the Kubernetes API is served", "address", a.kubernetes.service.Address(), "kubeconfig", a.options.api.kubeconfig)
	}
	ctx, end := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := serve(ctx); err != nil {
			a.log.Error("the Kubernetes API has failed", "err", err)
		}
	}()
	return func() {
		end()
		<-done
	}
}
