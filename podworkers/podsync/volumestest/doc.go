// Package volumestest checks that a podsync.Volumes keeps its promises, yours or one of ours.
//
//	func TestVolumes(t *testing.T) {
//		volumestest.Run(t, func(t *testing.T) volumestest.Harness {
//			return volumestest.Harness{Volumes: mine.New(t.TempDir()), OnDisk: true}
//		})
//	}
//
// Each case has a name and a promise, and a harness of its own. The pods are those of namespace
// "volumestest". They use emptyDir volumes only, but for configmap/absent, which is skipped where Problems
// refuses a configMap volume, mounts/image, which is skipped where Problems refuses an image volume, and
// files/outside, which has a hostPath too. The cases files/ are skipped where the Volumes are no
// podsync.VolumeFileReader. With OnDisk the cases also look at the files behind the mounts, which must be
// on this machine.
package volumestest
