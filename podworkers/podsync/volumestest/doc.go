// Package volumestest is a conformance test for implementations of podsync.Volumes.
//
//	func TestVolumes(t *testing.T) {
//		volumestest.Run(t, func(t *testing.T) volumestest.Harness {
//			return volumestest.Harness{Volumes: mine.New(t.TempDir()), OnDisk: true}
//		})
//	}
//
// Each case has a name and a promise, and gets a harness of its own. The pods are in the namespace
// "volumestest" and use emptyDir volumes. There are three exceptions: setup/absent-object is skipped if
// Problems rejects a configMap volume, mounts/image is skipped if Problems rejects an image volume, and
// files/outside also has a hostPath volume. The cases files/ are skipped if the Volumes are no
// podsync.VolumeFileReader. With OnDisk the cases also read and write the files at the mounted paths,
// which must be on this machine.
package volumestest
