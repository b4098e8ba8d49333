package volumestest

import "os"

var tearDownCases = []Case{
	{Name: "teardown/unknown", Promise: "TearDown of an unknown UID is no error.", run: func(b *caseEnv) {
		b.Must(b.Volumes.TearDown(b.Context(), "volumestest-unknown"), "TearDown")
	}},
	{Name: "teardown/again", Promise: "TearDown may be repeated.", run: func(b *caseEnv) {
		p := b.newPod("one", "data")
		b.mustSetUp(p)
		b.Must(b.Volumes.TearDown(b.Context(), p.UID), "TearDown")
		b.Must(b.Volumes.TearDown(b.Context(), p.UID), "TearDown again")
	}},
	{Name: "teardown/removes", Promise: "TearDown removes what SetUp has made.", needsDisk: true, run: func(b *caseEnv) {
		p := b.newPod("one", "data")
		b.mustSetUp(p)
		b.writeFile(p)
		at := b.volumePath(p)
		b.Must(b.Volumes.TearDown(b.Context(), p.UID), "TearDown")
		if _, err := os.Lstat(at); err == nil {
			b.Failf("%s is still there", at)
		}
	}},
	{Name: "teardown/anew", Promise: "A pod that was torn down can be set up again, and finds its emptyDir empty.", run: func(b *caseEnv) {
		p := b.newPod("one", "data")
		b.mustSetUp(p)
		if b.OnDisk {
			b.writeFile(p)
		}
		b.Must(b.Volumes.TearDown(b.Context(), p.UID), "TearDown")
		b.mustSetUp(p)
		b.volumePath(p)
		if b.OnDisk && b.hasFile(p) {
			b.Failf("the file is still there")
		}
	}},
	{Name: "teardown/others", Promise: "TearDown leaves the volumes of other pods.", needsDisk: true, run: func(b *caseEnv) {
		p, other := b.newPod("one", "data"), b.newPod("two", "data")
		b.mustSetUp(p)
		b.mustSetUp(other)
		b.writeFile(other)
		b.Must(b.Volumes.TearDown(b.Context(), p.UID), "TearDown")
		if !b.hasFile(other) {
			b.Failf("the other pod has lost its file")
		}
	}},
}
