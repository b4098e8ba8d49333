package main

import (
	"embed"
	"io/fs"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

//go:embed manifests
var own embed.FS

// sources say where the static pods come from: a directory, or the program itself, and a server. A
// box that cannot reach its server runs what the server said last, over restarts too.
func (o options) sources() (map[string]source.Source, error) {
	files := manifest.Config{Path: o.manifests, NodeName: name, StateDir: o.state}
	if files.Path == "" {
		files.StateDir = ""                    // The program itself keeps them.
		files.FS, _ = fs.Sub(own, "manifests") // The path is constant and valid.
		files.Path = "."
	}
	fromFiles, err := manifest.New(files)
	if err != nil {
		return nil, err
	}
	all := map[string]source.Source{podmanager.FileSource: fromFiles}
	if o.manifestURL != "" {
		all[podmanager.HTTPSource], err = manifest.NewURL(manifest.URLConfig{URL: o.manifestURL, NodeName: name, StateDir: o.state})
	}
	return all, err
}
