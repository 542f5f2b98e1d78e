package schema

func tidyForeign(tree *jsonValue) {}
