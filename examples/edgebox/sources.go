package main

import (
	"embed"
	"io/fs"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

//go:embed manifests
var embedded embed.FS

// podSources returns the sources of static pods: a directory or the embedded files, and a server if its URL is
// set. A box that cannot reach its server runs the pods of the last answer. With a state directory it does so
// also after a restart.
func (o options) podSources() (map[string]source.Source, error) {
	files := manifest.Config{Path: o.manifests, NodeName: nodeName, StateDir: o.state}
	if files.Path == "" {
		files.StateDir = ""                         // The embedded files need no saved copy.
		files.FS, _ = fs.Sub(embedded, "manifests") // The path is constant and valid.
		files.Path = "."
	}
	fromFiles, err := manifest.New(files)
	if err != nil {
		return nil, err
	}
	all := map[string]source.Source{podmanager.FileSource: fromFiles}
	if o.manifestURL != "" {
		all[podmanager.HTTPSource], err = manifest.NewURL(manifest.URLConfig{URL: o.manifestURL, NodeName: nodeName, StateDir: o.state})
	}
	return all, err
}
