// Package statedir keeps the state of a node that must survive a restart in one directory of the machine (experimental).
//
//	dir, err := statedir.Open(statedir.Config{Root: "/var/lib/gateway"})
//	defer dir.Close()
//	config := node.Config{ ... }
//	err = dir.Configure(&config)
//	n, err := node.New(config)
//
// Open locks the directory by flock, so that a second process with the same directory fails instead of terminating the
// pods of the first one. A crash of the process releases the lock. Every file system of Linux has this lock, but on NFS,
// SMB and 9p it does not exclude a process on another machine. There is no lock on Windows, and on another system where
// the file system reports an error for flock.
//
//	<root>/ended/        terminal statuses of pods       Config.Pods.TerminalStatuses
//	<root>/containers/   states of running containers    Config.Pods.ContainerStates
//	<root>/resources/    allocated resources of pods     Config.Pods.AllocatedResources
//	<root>/pods/         volumes and files of pods       Config.Volumes.Manager and Files
//	<root>/desired/      pods of the host program        Dir.Pods
//
// These are the directories of the example agents, except desired. Packages checkpoint and volumes define the files, and
// say which of them survive a power failure. A program with a CRI runtime also calls cri.OwnerFile(dir.Root()).
//
// Only the host program writes to desired. A cluster.Node does not save the pods of its API server: after a reboot these
// pods do not start before the server answers.
//
// # Pods of a message bus
//
// A program that gets its pods from a message bus saves each pod before it applies it, under the UID of
// checkpoint.Pods.UIDForName. At the start it applies the saved pods before the bus delivers any:
//
//	handle := source.NewHandleWith(source.HandleConfig{Incomplete: true})
//	complete := saved.ReadError() == nil
//	for _, pod := range saved.Load() {
//		if err := handle.Apply(pod); err != nil {
//			log.Error("cannot apply a saved pod", "pod", pod.Name, "err", err)
//			complete = false
//		}
//	}
//	if complete {
//		handle.SetComplete()
//	}
//
// Until SetComplete the node terminates no pod that is missing. So a file that cannot be read and a pod that is refused
// stop no pod. examples/gateway is such a program.
package statedir
