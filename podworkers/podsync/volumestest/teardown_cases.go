package volumestest

import "os"

var tearDownCases = []Case{
	{Name: "teardown/unknown", Promise: "TearDown of a UID of which there is nothing is no error.", run: func(b *bench) {
		b.Must(b.Volumes.TearDown(b.Context(), "volumestest-unknown"), "TearDown")
	}},
	{Name: "teardown/again", Promise: "TearDown may be repeated.", run: func(b *bench) {
		p := b.pod("one", "data")
		b.setUp(p)
		b.Must(b.Volumes.TearDown(b.Context(), p.UID), "TearDown")
		b.Must(b.Volumes.TearDown(b.Context(), p.UID), "TearDown again")
	}},
	{Name: "teardown/removes", Promise: "TearDown removes what SetUp has made.", onDisk: true, run: func(b *bench) {
		p := b.pod("one", "data")
		b.setUp(p)
		b.write(p)
		at := b.path(p)
		b.Must(b.Volumes.TearDown(b.Context(), p.UID), "TearDown")
		if _, err := os.Lstat(at); err == nil {
			b.Failf("%s is still there", at)
		}
	}},
	{Name: "teardown/anew", Promise: "A pod that was torn down can be set up again, and finds its emptyDir empty.", run: func(b *bench) {
		p := b.pod("one", "data")
		b.setUp(p)
		if b.OnDisk {
			b.write(p)
		}
		b.Must(b.Volumes.TearDown(b.Context(), p.UID), "TearDown")
		b.setUp(p)
		b.path(p)
		if b.OnDisk && b.written(p) {
			b.Failf("the file is still there")
		}
	}},
	{Name: "teardown/others", Promise: "TearDown leaves the volumes of other pods.", onDisk: true, run: func(b *bench) {
		p, other := b.pod("one", "data"), b.pod("two", "data")
		b.setUp(p)
		b.setUp(other)
		b.write(other)
		b.Must(b.Volumes.TearDown(b.Context(), p.UID), "TearDown")
		if !b.written(other) {
			b.Failf("the other pod has lost its file")
		}
	}},
}
