package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/examples/internal/command"
)

// cliFlags are the flags, in the order of the help. Setting one changes o. Where a flag has a
// name in the kubelet, that one is known too.
func (o *options) cliFlags() flagSet {
	return slices.Concat(o.nodeFlags(), o.lifeFlags(), o.apiFlags())
}

// nodeFlags say what runs where, and who can ask.
func (o *options) nodeFlags() flagSet {
	return flagSet{
		cliFlag{name: "manifests", value: "PATH", meaning: "directory or file of pod manifests (embedded examples)", set: o.setManifests}.as("pod-manifest-path"),
		cliFlag{name: "manifest-period", value: "DURATION", meaning: "how often the manifests are read again, changed or not (20s)", set: positive(&o.filePeriod)}.as("file-check-frequency"),
		{name: "manifest-url", value: "URL", meaning: "server of more pod manifests (none)", set: o.setURL},
		{name: "manifest-url-header", value: "NAME:VALUE,...", meaning: "headers of requests to it; those of several flags add up", set: o.setURLHeader},
		cliFlag{name: "manifest-url-period", value: "DURATION", meaning: "how often it is asked (20s)", set: o.setURLPeriod}.as("http-check-frequency"),
		{name: "strict", meaning: "refuse manifests with unknown or duplicate fields instead of ignoring them (false)", set: boolean(&o.strict)},
		{name: "config", value: "FILE", meaning: "KubeletConfiguration, which flags override; read again at SIGHUP (none)", set: o.setConfig},
		{name: "runtime", value: "memory|cri", meaning: "what runs the containers (memory; cri with a --cri-endpoint)", set: oneOf("memory cri", func(s string) { o.runtime = s })},
		cliFlag{name: "cri-endpoint", value: "SOCKET", meaning: "the CRI socket of the runtime (" + defaultEndpoint + ")", set: o.setEndpoint}.as("container-runtime-endpoint"),
		{name: "node-ip", value: "IP,...", meaning: "addresses of the node (127.0.0.1; with cri the machine's)", set: o.setNodeIPs},
		cliFlag{name: "node-name", value: "NAME", meaning: "static pods are called <name>-<node> (host name, lower case)", set: o.setNodeName}.as("hostname-override"),
		{name: "listen", value: "ADDR", meaning: "serve all users (" + defaultListen + ", health and metrics only); empty for none", set: o.setListen},
		{name: "socket", value: "PATH", meaning: "socket for this user's commands (of root /run/podkeel/agent.sock); empty for none", set: o.setSocket},
		{name: "address", value: "IP", meaning: "the address of --listen", set: o.setAddress},
		{name: "port", value: "N", meaning: "the port of --listen", set: o.setPort},
		{name: "exec", meaning: "allow agent exec from this machine (false)", set: boolean(&o.exec)},
		cliFlag{name: "state-dir", value: "DIR", meaning: "directory for volumes, logs and terminal statuses (none; with cri " + defaultStateDir + ")", set: o.setStateDir}.as("root-dir"),
		{name: "log-dir", value: "DIR", meaning: "directory of containers' logs, for this node alone (/var/log/pods, with others)", set: o.logs.SetDir},
		{name: "log-links", value: "DIR", meaning: "a link to each log (/var/log/containers; with --log-dir none); empty for none", set: o.logs.SetLinks},
		{name: "objects", value: "DIR", meaning: "directory of ConfigMaps and Secrets, see below (none; the examples have their own)", set: o.setObjects},
		{name: "capacity", value: "NAME=N,...", meaning: "what pods may request, as cpu=4,memory=8Gi,pods=110 (not checked; 110 pods)", set: o.setCapacity},
		{name: "max-pods", value: "N", meaning: "how many pods may be active at once (110)", set: o.setMaxPods},
		cliFlag{name: "labels", value: "KEY=VALUE,...", meaning: "more labels of the node", set: o.setLabels}.as("node-labels"),
		{name: "runtime-classes", value: "CLASS=HANDLER,...", meaning: "handlers of the runtime, for pods with runtimeClassName (none)", set: o.setRuntimeClasses},
		cliFlag{name: "taints", value: "KEY=VALUE:EFFECT,...", meaning: "taints of the node; static pods tolerate all of them", set: o.setTaints}.as("register-with-taints"),
		{name: "cluster-dns", value: "IP,...", meaning: "name servers of the cluster (none)", set: o.setClusterDNS},
		{name: "cluster-domain", value: "DOMAIN", meaning: "domain of the cluster, as cluster.local (none)", set: o.setClusterDomain},
		{name: "resolv-conf", value: "FILE", meaning: "resolver configuration of the host (with cri " + defaultResolver + "); empty for none", set: o.setResolver},
	}
}

// lifeFlags say when things happen, what is kept, and what is printed.
func (o *options) lifeFlags() flagSet {
	return flagSet{
		{name: "for", value: "DURATION", meaning: "stop after this time (run until SIGINT or SIGTERM)", set: positive(&o.lasting)},
		{name: "on-exit", value: "leave|stop", meaning: "leave containers running, or stop all pods within their grace periods (leave)",
			set: oneOf("leave stop", func(s string) { o.stopOnExit = s == "stop" })},
		cliFlag{name: "resync", value: "DURATION", meaning: "periodic resync interval of a pod (1m), ten times that if nothing changes", set: positive(&o.resync)}.as("sync-frequency"),
		{name: "max-container-restart-period", value: "DURATION", meaning: "longest delay between restarts of a container (5m)", set: positive(&o.maxRestart)},
		{name: "relist", value: "DURATION", meaning: "interval of listings if the runtime has no event stream (1s)", set: positive(&o.relist)},
		{name: "housekeeping", value: "DURATION", meaning: "shortest time between two cleanups (2s)", set: positive(&o.housekeeping)},
		{name: "orphan-grace", value: "DURATION", meaning: "how long a pod that runs at the start may lack a manifest (30s); 0 for none", set: o.setOrphanGrace},
		{name: "max-syncs", value: "N", meaning: "how many pods are synced at once (0: no limit)", set: countOf(&o.maxSyncs)},
		{name: "max-parallel-pulls", value: "N", meaning: "images pulled at once (10; at most 5 from one registry); 0 for no limit", set: o.setMaxPulls},
		cliFlag{name: "image-gc-high", value: "N", meaning: "disk usage in percent above which unused images are removed (85)", set: percent(&o.imageGC.HighThresholdPercent)}.as("image-gc-high-threshold"),
		cliFlag{name: "image-gc-low", value: "N", meaning: "disk usage in percent down to which they are removed (80)", set: percent(&o.imageGC.LowThresholdPercent)}.as("image-gc-low-threshold"),
		cliFlag{name: "image-min-age", value: "DURATION", meaning: "how long an image is kept at least (2m)", set: positive(&o.imageGC.MinAge)}.as("minimum-image-ttl-duration"),
		{name: "image-max-age", value: "DURATION", meaning: "how long an unused image is kept (for ever)", set: positive(&o.imageGC.MaxAge)},
		cliFlag{name: "log-max-size", value: "SIZE", meaning: "size at which a container's log is rotated (10Mi); 0 for never", set: o.setLogMaxSize}.as("container-log-max-size"),
		cliFlag{name: "log-max-files", value: "N", meaning: "log files of a container, the current one included (5)", set: o.setLogMaxFiles}.as("container-log-max-files"),
		{name: "events", meaning: "print the events of pods; repeated ones are counted (true)", set: boolean(&o.events)},
		{name: "log-level", value: "LEVEL", meaning: "debug, info, warn or error (info)", set: oneOf(logLevels, func(s string) {
			_ = o.logLevel.UnmarshalText([]byte(s)) // It is one of these.
		})},
		{name: "log-format", value: "text|json", meaning: "format of the log (text)", set: oneOf("text json", func(s string) { o.logFormat = s })},
	}
}

// setAddress changes where the agent listens, but for the port.
func (o *options) setAddress(s string) error {
	if net.ParseIP(s) == nil {
		return errors.New("expected an address, as 127.0.0.1")
	}
	_, port, err := net.SplitHostPort(o.listen)
	if err != nil {
		_, port, _ = net.SplitHostPort(defaultListen)
	}
	o.listen, o.listenGiven = net.JoinHostPort(s, port), true
	return nil
}

// setPort changes the port at which the agent listens.
func (o *options) setPort(s string) error {
	if n, err := strconv.ParseUint(s, 10, 16); err != nil || n == 0 {
		return errors.New("expected a port from 1 to 65535")
	}
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		host, _, _ = net.SplitHostPort(defaultListen)
	}
	o.listen, o.listenGiven = net.JoinHostPort(host, s), true
	return nil
}

// setMaxPods wants one pod at least.
func (o *options) setMaxPods(s string) (err error) {
	if o.maxPods, err = strconv.Atoi(s); err != nil || o.maxPods < 1 || o.maxPods > 1<<20 {
		o.maxPods = 0
		return errors.New("expected a number from 1")
	}
	return nil
}

// setTaints reads the taints of the node.
func (o *options) setTaints(s string) error {
	var taints []v1.Taint
	err := command.Taints(&taints)(s)
	o.taints = taints
	return err
}

// logLevels are the values of --log-level.
const logLevels = "debug info warn error"

// parse reads the command line of an agent that runs a directory. Its error has a line for everything
// that is wrong.
func parse(args []string) (options, error) {
	o := defaults()
	line, err := o.cliFlags().parse(args)
	if err == nil {
		err = o.readAgent(line)
	}
	o.args = args
	return o, err
}

// readAgent sets what the command line of an agent that runs a directory says.
func (o *options) readAgent(line *commandLine) error {
	err := o.read(line)
	words := slices.Concat(line.words, line.rest)
	if len(words) > 0 && slices.Contains(commandNames(), words[0]) {
		return fmt.Errorf("the command comes before its flags: agent %s ... (agent %s --help)", words[0], words[0])
	}
	return errors.Join(err, stray(words), errors.Join(o.contradictions()...))
}

// read sets what the flags of a command line say.
func (o *options) read(line *commandLine) error {
	items := line.items
	var faults []error
	if path := lastValue(items, "config"); path != "" {
		o.config = path
		faults = append(faults, o.readConfig(line.known, path, func(settings []fieldSetting) bool {
			if runtime := lastValue(items, "runtime"); runtime != "" {
				return runtime == "cri"
			}
			return lastValue(items, "cri-endpoint") != "" || slices.ContainsFunc(settings, func(s fieldSetting) bool { return s.flag == "cri-endpoint" })
		}))
	}
	if lastValue(items, "manifest-url-header") != "" {
		o.urlHeader = nil // Those of flags add up, but not with those of the file.
	}
	for i := range items {
		if items[i].flag != nil {
			delete(o.said, items[i].flag.name) // It is the flag that counts.
		}
	}
	for i := range items {
		one := &items[i]
		faults = append(faults, one.apply())
		if one.flag != nil {
			o.said[one.flag.name] = said{o.said[one.flag.name].value + "\x00" + one.value, one.given, 0}
		}
	}
	o.infer()
	return errors.Join(faults...)
}

// lastValue is the value with which a flag was given last; empty if it was not given.
func lastValue(items []item, name string) (value string) {
	for i := range items {
		if items[i].flag != nil && items[i].flag.name == name {
			value = items[i].value
		}
	}
	return value
}

// infer fills in what follows from what was said.
func (o *options) infer() {
	if o.runtime == "" && o.criEndpoint != "" {
		o.runtime = "cri"
	}
	o.runtime = cmp.Or(o.runtime, "memory")
	if o.listen == "" && !o.socketGiven {
		o.socket = "" // Without a debug handler there is none on a socket either, unless a flag names one.
	}
}

// ofKubectl are commands of kubectl, and those that do the same here. What follows one is no
// command.
var ofKubectl = map[string]string{"get": "ps", "describe": "explain", "apply": "run", "create": "run"}

// servedToKubectl are commands of kubectl that work with the API of the agent, and have no like here.
const servedToKubectl = "attach cp debug delete drain edit events label patch port-forward replace top wait"

// stray is an error for each word that is no command.
func stray(words []string) error {
	var faults []error
	for _, word := range words {
		if meant := ofKubectl[word]; meant != "" {
			return fmt.Errorf("%q is a command of kubectl; here it is %s (--help lists all commands)", word, meant)
		}
		if slices.Contains(strings.Fields(servedToKubectl), word) {
			return fmt.Errorf("%q is a command of kubectl, which works with an agent that has --write-kubeconfig (--help lists all commands)", word)
		}
		if meant := command.Meant(word, append(commandNames(), completionName)); meant != "" {
			faults = append(faults, fmt.Errorf("%q is neither a command nor a flag; did you mean %s? (--help lists both)", word, meant))
			continue
		}
		faults = append(faults, fmt.Errorf("%q is neither a command nor a flag (--help lists both)", word))
	}
	return errors.Join(faults...)
}

func usage() string {
	var o options
	return "Usage: agent [flags]\n" +
		"       agent COMMAND ... [flags]\n\n" +
		"Runs a directory of Pod manifests and shows what becomes of them: as a table on\n" +
		"a terminal, and otherwise as a line for each change. run does so with the pods of files, and\n" +
		"ends with them. Other commands ask the agent that this user runs, or the one at --server:\n\n" + usageOfCommands() +
		"\nagent COMMAND --help tells more of one. Flags, with their defaults in parentheses:\n\n" +
		strings.TrimSuffix(o.cliFlags().help(), "\n") + "\n"
}
