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

// allFlags returns the flags of the agent, in the order of the help. Setting one of them changes o. A flag that
// has another name in the kubelet has that name as an alias.
func (o *options) allFlags() flagSet {
	return slices.Concat(o.nodeFlags(), o.timingFlags(), o.evictionFlags(), o.localAPIFlags())
}

// evictionFlags returns the flags about evictions under pressure.
func (o *options) evictionFlags() flagSet {
	return flagSet{
		{name: "eviction-hard", value: "SIGNAL<N,...", description: "eviction thresholds (with cri the kubelet's, in memory none); empty for none", set: o.eviction.SetHard},
		{name: "eviction-soft", value: "SIGNAL<N,...", description: "thresholds that act after their grace period (none)", set: o.eviction.SetSoft},
		{name: "eviction-soft-grace-period", value: "SIGNAL=DURATION,...", description: "grace periods of the soft thresholds", set: o.eviction.SetSoftGracePeriod},
		{name: "eviction-minimum-reclaim", value: "SIGNAL=N,...", description: "how much more than a threshold must become available (0)", set: o.eviction.SetMinimumReclaim},
		{name: "eviction-pressure-transition-period", value: "DURATION", description: "how long a pressure condition stays (5m)", set: o.eviction.SetTransitionPeriod},
		{name: "kernel-memcg-notification", value: "BOOL", description: "let the kernel notify about scarce memory, on cgroup v1 (false)", set: o.eviction.SetKernelNotification},
		{name: "eviction-max-pod-grace-period", value: "SECONDS", description: "longest grace period of soft evictions (a second); -1 for no limit", set: o.eviction.SetMaxPodGrace},
	}
}

// nodeFlags returns the flags about the node, its manifests, its runtime and its listeners.
func (o *options) nodeFlags() flagSet {
	return flagSet{
		cliFlag{name: "manifests", value: "PATH", description: "directory or file of pod manifests (embedded examples)", set: o.setManifests}.withAliases("pod-manifest-path"),
		cliFlag{name: "manifest-period", value: "DURATION", description: "how often the manifests are read again, even without changes (20s)", set: positiveDurationFlag(&o.filePeriod)}.withAliases("file-check-frequency"),
		{name: "manifest-url", value: "URL", description: "URL of more pod manifests (none)", set: o.setManifestURL},
		{name: "manifest-url-header", value: "NAME:VALUE,...", description: "headers of requests to that URL; several flags add up", set: o.setManifestURLHeader},
		cliFlag{name: "manifest-url-period", value: "DURATION", description: "how often that URL is requested (20s)", set: o.setManifestURLPeriod}.withAliases("http-check-frequency"),
		{name: "strict", description: "reject manifests with unknown or duplicate fields instead of ignoring them (false)", set: boolFlag(&o.strict)},
		{name: "config", value: "FILE", description: "KubeletConfiguration, which flags override; read again at SIGHUP (none)", set: o.setConfig},
		{name: "runtime", value: "memory|cri", description: "runtime of the containers (memory; cri with a --cri-endpoint)", set: oneOfFlag("memory cri", func(s string) { o.runtime = s })},
		cliFlag{name: "cri-endpoint", value: "SOCKET", description: "the CRI socket of the runtime (" + defaultEndpoint + ")", set: o.setCRIEndpoint}.withAliases("container-runtime-endpoint"),
		{name: "node-ip", value: "IP,...", description: "addresses of the node (127.0.0.1; with cri the machine's)", set: o.setNodeIPs},
		cliFlag{name: "node-name", value: "NAME", description: "static pods are called <name>-<node> (host name, lower case)", set: o.setNodeName}.withAliases("hostname-override"),
		{name: "listen", value: "ADDR", description: "serve all users (" + defaultListen + ", health and metrics only); empty: no socket either", set: o.setListen},
		{name: "socket", value: "PATH", description: "socket for this user's commands (of root /run/podkeel/agent.sock); empty for none", set: o.setSocket},
		{name: "address", value: "IP", description: "the address of --listen", set: o.setAddress},
		{name: "port", value: "N", description: "the port of --listen", set: o.setPort},
		{name: "exec", description: "allow agent exec from this machine (false)", set: boolFlag(&o.exec)},
		cliFlag{name: "state-dir", value: "DIR", description: "directory for volumes and the state of pods (none; with cri " + defaultStateDir + ")", set: o.setStateDir}.withAliases("root-dir"),
		{name: "log-dir", value: "DIR", description: "directory of containers' logs, for this node alone (/var/log/pods, with others)", set: o.logs.SetDir},
		{name: "cgroups-per-qos", value: "BOOL", description: "give each pod a cgroup with its limits, with --runtime=cri (true)", set: o.cgroups.SetPerQOS},
		{name: "cgroup-driver", value: "cgroupfs|systemd", description: "driver of a runtime that reports none (systemd if the host has it)", set: o.cgroups.SetDriver},
		{name: "pod-max-pids", value: "N", description: "processes of a pod at most, with --cgroups-per-qos (-1: no limit)", set: o.cgroups.SetMaxPIDs},
		{name: "system-reserved", value: "NAME=N,...", description: "cpu, memory, ephemeral-storage and pid that pods cannot use (none)", set: o.reserved.SetSystem},
		{name: "kube-reserved", value: "NAME=N,...", description: "more of these, for the agent and the runtime (none)", set: o.reserved.SetKube},
		{name: "log-links", value: "DIR", description: "links to the logs (/var/log/containers; with --log-dir none); empty for none", set: o.logs.SetLinks},
		{name: "objects", value: "DIR", description: "directory of ConfigMaps and Secrets, see below (none; the examples have their own)", set: o.setObjects},
		{name: "capacity", value: "NAME=N,...", description: "requestable resources, as cpu=4,memory=8Gi,pods=110 (not checked; 110 pods)", set: o.setCapacity},
		{name: "max-pods", value: "N", description: "how many pods may be active at once (110)", set: o.setMaxPods},
		cliFlag{name: "labels", value: "KEY=VALUE,...", description: "more labels of the node", set: o.setLabels}.withAliases("node-labels"),
		{name: "runtime-classes", value: "CLASS=HANDLER,...", description: "handlers of the runtime, for pods with runtimeClassName (none)", set: o.setRuntimeClasses},
		cliFlag{name: "taints", value: "KEY=VALUE:EFFECT,...", description: "taints of the node; static pods tolerate all of them", set: o.setTaints}.withAliases("register-with-taints"),
		{name: "allowed-unsafe-sysctls", value: "NAME,...", description: "unsafe sysctls that pods may set, or prefixes with *, for cri (none)", set: o.sysctls.Set},
		{name: "cluster-dns", value: "IP,...", description: "name servers of the cluster (none)", set: o.setClusterDNS},
		{name: "cluster-domain", value: "DOMAIN", description: "domain of the cluster, as cluster.local (none)", set: o.setClusterDomain},
		{name: "resolv-conf", value: "FILE", description: "resolver configuration of the host (with cri " + defaultResolver + "); empty for none", set: o.setResolverFile},
	}
}

// timingFlags returns the flags about times, limits and output.
func (o *options) timingFlags() flagSet {
	return flagSet{
		{name: "for", value: "DURATION", description: "stop after this time (run until SIGINT or SIGTERM)", set: positiveDurationFlag(&o.runFor)},
		{name: "on-exit", value: "leave|stop", description: "leave containers running, or stop all pods within their grace periods (leave)",
			set: oneOfFlag("leave stop", func(s string) { o.stopOnExit = s == "stop" })},
		cliFlag{name: "resync", value: "DURATION", description: "resync interval of a pod (1m); ten times that with no volumes, probes or deadline", set: positiveDurationFlag(&o.resync)}.withAliases("sync-frequency"),
		{name: "max-container-restart-period", value: "DURATION", description: "longest delay between restarts of a container (5m)", set: positiveDurationFlag(&o.maxRestart)},
		{name: "relist", value: "DURATION", description: "interval of listings if the runtime has no event stream (1s)", set: positiveDurationFlag(&o.relist)},
		{name: "housekeeping", value: "DURATION", description: "shortest time between two cleanups (2s)", set: positiveDurationFlag(&o.housekeeping)},
		{name: "orphan-grace", value: "DURATION", description: "how long a pod that runs at the start may lack a manifest (30s); 0 for none", set: o.setOrphanGrace},
		{name: "max-syncs", value: "N", description: "how many pods are synced at once (0: no limit)", set: countFlag(&o.maxSyncs)},
		{name: "max-parallel-pulls", value: "N", description: "images pulled at once (10; at most 5 from one registry); 0 for no limit", set: o.setMaxPulls},
		cliFlag{name: "image-gc-high", value: "N", description: "disk usage in percent above which unused images are removed (85)", set: percentFlag(&o.imageGC.HighThresholdPercent)}.withAliases("image-gc-high-threshold"),
		cliFlag{name: "image-gc-low", value: "N", description: "disk usage in percent at which the removal stops (80)", set: percentFlag(&o.imageGC.LowThresholdPercent)}.withAliases("image-gc-low-threshold"),
		cliFlag{name: "image-min-age", value: "DURATION", description: "how long an image is kept at least (2m)", set: positiveDurationFlag(&o.imageGC.MinAge)}.withAliases("minimum-image-ttl-duration"),
		{name: "image-max-age", value: "DURATION", description: "how long an unused image is kept (for ever)", set: positiveDurationFlag(&o.imageGC.MaxAge)},
		cliFlag{name: "log-max-size", value: "SIZE", description: "size at which a container's log is rotated (10Mi); 0 for never", set: o.setLogMaxSize}.withAliases("container-log-max-size"),
		cliFlag{name: "log-max-files", value: "N", description: "log files of a container, the current one included (5)", set: o.setLogMaxFiles}.withAliases("container-log-max-files"),
		{name: "events", description: "print the events of pods; repeated ones are counted (true)", set: boolFlag(&o.events)},
		{name: "log-level", value: "LEVEL", description: "debug, info, warn or error (info)", set: oneOfFlag(logLevels, func(s string) {
			_ = o.logLevel.UnmarshalText([]byte(s)) // The value is one of logLevels.
		})},
		{name: "log-format", value: "text|json", description: "format of the log (text)", set: oneOfFlag("text json", func(s string) { o.logFormat = s })},
	}
}

// setAddress replaces the IP address on which the agent listens, and keeps the port. It returns an error if s
// is no IP address.
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

// setPort replaces the port on which the agent listens, and keeps the address. It returns an error if s is no
// number from 1 to 65535.
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

// setMaxPods parses and stores the maximum number of pods. It returns an error if s is no number from 1 to
// 1048576.
func (o *options) setMaxPods(s string) (err error) {
	if o.maxPods, err = strconv.Atoi(s); err != nil || o.maxPods < 1 || o.maxPods > 1<<20 {
		o.maxPods = 0
		return errors.New("expected a number from 1")
	}
	return nil
}

// setTaints parses and stores the taints of the node.
func (o *options) setTaints(s string) error {
	var taints []v1.Taint
	err := command.TaintsFlag(&taints)(s)
	o.taints = taints
	return err
}

// logLevels are the values of --log-level.
const logLevels = "debug info warn error"

// parseAgentOptions parses the command line of an agent that runs a directory of manifests, and reads its
// configuration file. The error has a line for each fault.
func parseAgentOptions(args []string) (options, error) {
	o := defaults()
	line, err := o.allFlags().parseWithoutSettingOptions(args)
	if err == nil {
		err = o.applyAgentCommandLine(line)
	}
	o.args = args
	return o, err
}

// applyAgentCommandLine sets the options from the command line of an agent that runs a directory of manifests.
// It returns errors for conflicting flags and for words that are no flags.
func (o *options) applyAgentCommandLine(line *commandLine) error {
	err := o.applyCommandLine(line)
	words := slices.Concat(line.args, line.argsAfterDash)
	if len(words) > 0 && slices.Contains(commandNames(), words[0]) {
		return fmt.Errorf("the command comes before its flags: agent %s ... (agent %s --help)", words[0], words[0])
	}
	return errors.Join(err, unknownWordErrors(words), errors.Join(o.resetOrReportConflictingFlags()...))
}

// applyCommandLine sets the options from the configuration file and then from the flags of a command line,
// which override the file. At last it sets the defaults that depend on other options. It records in setFlags
// which flag or field set each option.
func (o *options) applyCommandLine(line *commandLine) error {
	items := line.items
	var faults []error
	if path := lastValue(items, "config"); path != "" {
		o.config = path
		faults = append(faults, o.applyConfigFile(line.known, path, func(settings []fieldSetting) bool {
			if runtime := lastValue(items, "runtime"); runtime != "" {
				return runtime == "cri"
			}
			return lastValue(items, "cri-endpoint") != "" || slices.ContainsFunc(settings, func(s fieldSetting) bool { return s.flag == "cri-endpoint" })
		}))
	}
	if lastValue(items, "manifest-url-header") != "" {
		o.urlHeader = nil // Several flags add up, but they replace the headers of the file.
	}
	for i := range items {
		if items[i].flag != nil {
			delete(o.setFlags, items[i].flag.name) // The flag overrides the file.
		}
	}
	for i := range items {
		one := &items[i]
		faults = append(faults, one.setOrReturnFault())
		if one.flag != nil {
			o.setFlags[one.flag.name] = flagSource{o.setFlags[one.flag.name].value + "\x00" + one.value, one.usedName, 0}
		}
	}
	o.applyImpliedDefaults()
	return errors.Join(faults...)
}

// lastValue returns the value of the last use of a flag on the command line, or "" if the flag is not used.
func lastValue(items []flagUse, name string) (value string) {
	for i := range items {
		if items[i].flag != nil && items[i].flag.name == name {
			value = items[i].value
		}
	}
	return value
}

// applyImpliedDefaults chooses the runtime if no flag names it: cri with a CRI endpoint, memory without one. If
// no flag names a socket and the agent listens on no address, it disables the socket.
func (o *options) applyImpliedDefaults() {
	if o.runtime == "" && o.criEndpoint != "" {
		o.runtime = "cri"
	}
	o.runtime = cmp.Or(o.runtime, "memory")
	if o.listen == "" && !o.socketGiven {
		o.socket = "" // Without a debug handler there is no socket, unless a flag names one.
	}
}

// kubectlEquivalents maps commands of kubectl to the commands of the agent that do the same.
var kubectlEquivalents = map[string]string{"get": "ps", "describe": "explain", "apply": "run", "create": "run"}

// kubectlOnlyCommands are commands of kubectl that work with the API of the agent and have no equivalent in it.
const kubectlOnlyCommands = "attach cp debug delete drain edit events label patch port-forward replace top wait"

// unknownWordErrors returns an error for each word, as the agent has no such command, with a suggestion if a
// command is similar. If a word is a command of kubectl, it returns only the error for that word.
func unknownWordErrors(words []string) error {
	var faults []error
	for _, word := range words {
		if meant := kubectlEquivalents[word]; meant != "" {
			return fmt.Errorf("%q is a command of kubectl; here it is %s (--help lists all commands)", word, meant)
		}
		if slices.Contains(strings.Fields(kubectlOnlyCommands), word) {
			return fmt.Errorf("%q is a command of kubectl, which works with an agent that has --write-kubeconfig (--help lists all commands)", word)
		}
		if meant := command.NearestWord(word, append(commandNames(), completionName)); meant != "" {
			faults = append(faults, fmt.Errorf("%q is neither a command nor a flag; did you mean %s? (--help lists both)", word, meant))
			continue
		}
		faults = append(faults, fmt.Errorf("%q is neither a command nor a flag (--help lists both)", word))
	}
	return errors.Join(faults...)
}

// agentHelp returns the help of the agent: its commands and its flags.
func agentHelp() string {
	var o options
	return "Usage: agent [flags]\n" +
		"       agent COMMAND ... [flags]\n\n" +
		"Runs a directory of Pod manifests and shows the state of the pods: as a table on\n" +
		"a terminal, and otherwise as a line for each change. run does so with the pods of files, and\n" +
		"exits when they have terminated. Other commands query the agent of this user, or the agent at --server:\n\n" + commandsHelp() +
		"\nagent COMMAND --help describes one command. Flags, with their defaults in parentheses:\n\n" +
		strings.TrimSuffix(o.allFlags().helpText(), "\n") + "\n"
}
