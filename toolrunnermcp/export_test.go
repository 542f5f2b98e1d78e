package toolrunnermcp

// ResultOf is resultOf.
var ResultOf = resultOf
