package manifest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

// BenchmarkScan_OneOf10000 measures a scan after one of 10,000 files has changed: a scan of all files, and a scan after
// an event that names the file.
func BenchmarkScan_OneOf10000(b *testing.B) {
	const files, changing = 10_000, "static-5000.yaml"
	for _, bench := range []struct {
		name string
		scan func(*manifest.Source, context.Context) (source.Snapshot, error)
	}{
		{"all", (*manifest.Source).Scan},
		{"named", func(s *manifest.Source, ctx context.Context) (source.Snapshot, error) {
			return s.ScanChanged(ctx, changing)
		}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			dir := b.TempDir()
			for i := range files {
				require.NoError(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("static-%d.yaml", i)), []byte(podYAML(fmt.Sprintf("static-%d", i), "i")), 0o600))
			}
			s, err := manifest.New(manifest.Config{Path: dir, NodeName: "n1"})
			require.NoError(b, err)
			_, err = s.Scan(b.Context())
			require.NoError(b, err)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				require.NoError(b, os.WriteFile(filepath.Join(dir, changing), []byte(podYAML("static-5000", fmt.Sprint("v", i))), 0o600))
				snapshot, err := bench.scan(s, b.Context())
				require.NoError(b, err)
				require.Len(b, snapshot.Pods, files)
			}
		})
	}
}
