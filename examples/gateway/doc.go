// Command gateway is a node agent for a device in the field: its pods come from a message bus, and they run on containerd.
//
//	go run ./examples/gateway --memory                   # simulated containers, without root
//	gateway --state-dir /var/lib/gateway --node-ip 192.0.2.7
//
// Standard input stands for the bus: each line is a message. Standard output gets a line for each change of a pod:
//
//	{"apply": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {...}}}
//	{"delete": "default/web"}
//
// bus.go has the interface of two methods that a program replaces by the client of its own bus. The bus may deliver a
// message twice, and it need not repeat old ones: the program saves each pod before the pod runs, and deletes the file
// before the pod stops. A message that is invalid or longer than 1 MiB is reported and skipped.
//
// A message about the name of a saved pod updates that pod. A pod that is applied after a deletion of its name is a new pod,
// with a new UID, also if the program restarts in between: a job that has completed runs again.
//
// # Restarts
//
// At the start the saved pods are desired before the bus is asked, so a gateway without network runs its pods. Running
// containers of these pods are adopted. Pods that run and are not saved terminate after 30 s, or earlier if the bus applies
// a pod of the same name. If a saved pod cannot be read or is refused, the program reports it and runs the others, and
// no pod is terminated as unknown until a next start. A deletion of such a pod removes its file.
//
//	SIGINT     the program exits, and its pods keep running: for an upgrade (KillSignal=SIGINT under systemd)
//	SIGTERM    all pods terminate within their grace periods; the next start runs them again. A second signal ends the
//	           wait, and the program exits with an error
//	SIGKILL    the pods keep running, as after SIGINT
//	power cut  each saved pod starts again; a job that has succeeded does not
//
// With a runtime of your own, set the runtime of g.config and pass an empty endpoint to run. If its containers are in
// this process, as with --memory, they end with it. Then drain on both signals, and SIGKILL is a power cut. The comment
// of package runtime says what a restart loses.
//
// # Settings
//
// The source has the name "bus", so the pods are static pods. By default static pods are never evicted. This program
// permits it, except for critical pods: an evicted pod is Failed until the bus deletes and applies it again. A pod for
// which there is no room waits. Pods in cgroups of their own and evictions have the kubelet's defaults. Package
// examples/agent shows further parts: metrics, a debug server, garbage collection of images, and systemd notifications.
package main
