// Package volumes keeps the volumes of pods, and the files that belong to them, in a directory of the
// host.
//
//	<root>/pods/<uid>/volumes/<name>                emptyDir, configMap, secret, ...
//	<root>/pods/<uid>/subpaths/<container>/<index>  a part of a volume, pinned
//	<root>/pods/<uid>/containers/<name>/<attempt>   termination messages
//	<root>/pods/<uid>/etc-hosts                     the hosts file
//	<root>/pods/<uid>/owner                         the pod's namespace and name
//	<root>/pods/.trash/<uid>~...                    directories that are being removed
//
// The pure package internal/volume decides which volumes are supported. Package
// volumes/inmemory is for runtimes without a disk.
//
// # The contract
//
// A Dir is a podsync.Volumes and a podsync.Files. It has no state in memory and continues from the
// files on disk. SetUp and Mounts of one pod are called one at a time. Refresh, TearDown, Remove and
// Sweep may be called at any time. Only the agent may write to the root.
//
// # Removing
//
// TearDown and Remove rename the directory of the pod before they unmount and remove
// anything. A new pod with the same UID gets a new directory. Remove checks that the pod is gone
// while it holds the lock of SetUp. A removal crosses no mount: it stops there with
// osfile.ErrMount, and the files of the host stay. Sweep continues removals that a crash has cut
// short. A directory belongs to the pod that it was created for. Another pod with the same UID and
// another name does not get it.
//
// # Links
//
// Everything below the root is written and removed through an os.Root, which no link
// leaves. A pipe or a device in the place of a directory is an error. Termination messages are opened
// without following links and without waiting, and are read only if they are regular files.
//
// A subPath may have links that stay in the volume. The file or directory at its end is opened and
// bind-mounted by its file descriptor. So a container that replaces the path afterwards does not change
// the mount. If the agent may not mount, SetUp returns an error. Volumes that only the agent writes
// need no such mount.
//
// # Files of volumes
//
// The files of a configMap, secret, downwardAPI or projected volume are written to a new
// directory, and then a link to it replaces the old link. So a reader sees the old files or the new
// ones. SetUp writes when the files differ, unless all their objects are immutable. The mount of a
// subPath keeps the files of the time when its container was created.
//
// Refresh also writes files, concurrently with all other methods. Refresh and SetUp read objects
// without a lock, and write under the lock of the UID. Each read has a number, so that an older read
// does not overwrite a newer one. Refresh creates no directory, and TearDown renames under the same
// lock. So nothing is left behind for a pod that was removed.
//
// With Config.SecretsInMemory the files of all these volumes except configMap are in a tmpfs. TearDown
// unmounts it.
//
// Before containers start, a local volume of a claim and everything in it gets the pod's fsGroup,
// unless the volume is read-only or its directory has that group already. The directory gets the group
// last, so it has the group only if everything in it has. This is the kubelet's fsGroupChangePolicy
// OnRootMismatch, for every policy of the pod. The setuid bit of files is not kept. File systems that
// are mounted in the volume are not changed. A path of more than 4096 bytes, which no program can use,
// is an error.
//
// A volume in memory, a subPath of an emptyDir or hostPath, and an fsGroup that the agent does not
// belong to need root. The first two also need Linux. Otherwise SetUp returns an error that says so.
//
// The package reads one field of /proc/self/mountinfo. k8s.io/mount-utils, which parses all fields, would
// run the program mount.
package volumes
